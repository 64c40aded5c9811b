"""Reduction axes, thread axes and variables, the vocabulary of definitions and schedules."""

from __future__ import annotations

from typing import TypeAlias

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import ExprLike, IterVar, Range, SizeVar, Var, convert
from compiler.ir.origin import derived_from, mint_source

AxisDomain: TypeAlias = Range | tuple[ExprLike, ExprLike] | list[ExprLike]
"""The values of an axis: a range, or its begin and end."""


def check_name(operation: str, name: object) -> None:
    """Reject a name that is not a string."""
    if not isinstance(name, str):
        raise ArgumentError(f"{operation}: name must be a string, got {show(name)}")


def reduce_axis(dom: AxisDomain, name: str = "rv", thread_tag: str = "", span: object = None) -> IterVar:
    """Declare an axis to reduce over, from the first value of ``dom`` to the one before the second.

    A reduction loop becomes one of threads by ``Stage.bind``, not by a ``thread_tag``; ``span`` is ignored.
    """
    check_name("reduce_axis", name)
    with derived_from(mint_source(f"{name} = reduce_axis")):
        values = _range("reduce_axis", dom)
        return IterVar(values, Var(name, values.extent.dtype), IterVar.CommReduce, thread_tag)


def _range(operation: str, dom: AxisDomain) -> Range:
    if isinstance(dom, Range):
        return dom
    if isinstance(dom, (tuple, list)) and len(dom) == 2:
        begin, end = (convert(v) for v in dom)
        if dt.is_integral(begin.dtype) and dt.is_integral(end.dtype):
            return Range(begin, end)
    raise ArgumentError(f"{operation}: dom must be (begin, end) or a Range, got {show(dom)}")


def thread_axis(dom: AxisDomain | str | None = None, tag: str = "", name: str = "", span: object = None) -> IterVar:
    """Declare an axis of threads, such as ``thread_axis("threadIdx.x")``.

    ``dom`` are the threads, from the first one to the one before the second; a string is the tag: ``blockIdx.x``,
    ``threadIdx.x``, ``vthread``, …  The name is the tag by default, ``span`` is ignored. Raises ArgumentError if there
    is no tag, or ``dom`` is not a pair of integers and no Range.
    """
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise ArgumentError("thread_axis: tag must be given, such as 'threadIdx.x'")
    with derived_from(mint_source(f"thread_axis {tag}")):
        extent = None if dom is None else _range("thread_axis", dom)
        return IterVar(extent, Var(name or tag), IterVar.ThreadIndex, tag)


def var(name: str = "tindex", dtype: str = "int32", span: object = None) -> Var:
    """Declare a new variable, such as a symbolic extent; ``span`` is ignored."""
    check_name("var", name)
    with derived_from(mint_source(f"{name} = var")):
        return Var(name, dtype)


def size_var(name: str = "size", dtype: str = "int32", span: object = None) -> SizeVar:
    """Declare a new variable that is at least zero, such as an extent; ``span`` is ignored."""
    check_name("size_var", name)
    with derived_from(mint_source(f"{name} = size_var")):
        return SizeVar(name, dtype)
