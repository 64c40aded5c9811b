"""Reduction axes, thread axes and variables, the vocabulary of definitions and schedules."""

from __future__ import annotations

from typing import TypeAlias

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.origin import derived_from, mint_source
from compiler.ir.primexpr import ExprLike, IterVar, Range, SizeVar, Var, convert

__all__ = ["AxisDomain", "check_name", "reduce_axis", "size_var", "thread_axis", "var"]

AxisDomain: TypeAlias = Range | tuple[ExprLike, ExprLike] | list[ExprLike]
"""The values of an axis: a range, or its begin and end."""


def check_name(operation: str, name: object) -> None:
    """Reject a name that is not a string."""
    if not isinstance(name, str):
        raise ArgumentError(f"{operation}: name must be a string, got {show(name)}")


def reduce_axis(dom: AxisDomain, name: str = "rv", thread_tag: str = "", span: object = None) -> IterVar:
    """Declare an axis to reduce over.

    Parameters
    ----------
    dom : (int or PrimExpr, int or PrimExpr) or Range
        Its values: from the first one to the one before the second.
    thread_tag : str
        Empty; a reduction loop becomes one of threads by ``Stage.bind``.
    span : object
        Ignored; the origin is the user's line.

    Raises
    ------
    ArgumentError
        If ``dom`` is not a pair of integers and no Range, or ``name`` no string.
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

    Parameters
    ----------
    dom : (int or PrimExpr, int or PrimExpr), Range or str, optional
        The threads: from the first one to the one before the second; a string is the tag.
    tag : str
        ``blockIdx.x``, ``threadIdx.x``, ``vthread``, …
    name : str
        The name of its variable; the tag by default.
    span : object
        Ignored; the origin is the user's line.

    Raises
    ------
    ArgumentError
        If there is no tag, or ``dom`` is not a pair of integers and no Range.
    """
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise ArgumentError("thread_axis: tag must be given, such as 'threadIdx.x'")
    with derived_from(mint_source(f"thread_axis {tag}")):
        extent = None if dom is None else _range("thread_axis", dom)
        return IterVar(extent, Var(name or tag), IterVar.ThreadIndex, tag)


def var(name: str = "tindex", dtype: str = "int32", span: object = None) -> Var:
    """Declare a variable, such as a symbolic extent.

    Parameters
    ----------
    name : str
        Its name in the code that is generated.
    span : object
        Ignored; the origin is the user's line.

    Returns
    -------
    Var
        A new variable, different from all others of that name.
    """
    check_name("var", name)
    with derived_from(mint_source(f"{name} = var")):
        return Var(name, dtype)


def size_var(name: str = "size", dtype: str = "int32", span: object = None) -> SizeVar:
    """Declare a variable that is at least zero, such as an extent.

    Parameters
    ----------
    name : str
        Its name in the code that is generated.
    span : object
        Ignored; the origin is the user's line.

    Returns
    -------
    SizeVar
        A new variable, different from all others of that name.
    """
    check_name("size_var", name)
    with derived_from(mint_source(f"{name} = size_var")):
        return SizeVar(name, dtype)
