"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Select, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.definitions import named
from compiler.topi.operands import Axes, Extent, axes_of, dims
from compiler.topi.tag import Tag

__all__ = ["all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum"]

Reducer: TypeAlias = Callable[..., PrimExpr]
"""``reducer(element, axis=axes)``."""
Reduction: TypeAlias = Callable[..., Tensor]
Pair: TypeAlias = tuple[PrimExpr, PrimExpr]
ReducedAxes: TypeAlias = Mapping[int, IterVar]
"""The reduction axis of each axis of the data that is reduced."""


def reduce_over(
    data: Tensor, axis: Axes, keepdims: bool, function: Callable[[PrimExpr, ReducedAxes], Any], name: str, tag: Tag
) -> Any:
    """Return ``function(element, reduction axes)`` over some axes, or all.

    ``function`` takes an element of the data, and the reduction axis of each axis that is reduced; it returns a
    reduction, or one of tuples.  With ``keepdims`` the axes that are reduced stay, with extent 1.
    """
    shape = dims(data)
    over = axes_of(axis, len(shape), name)
    ks = {d: te.reduce_axis((0, shape[d]), name=f"k{n}") for n, d in enumerate(over)}
    remaining = [d for d in range(len(shape)) if keepdims or d not in ks]
    out = tuple(1 if d in ks else shape[d] for d in remaining)
    if not ks:
        return compute(out, lambda *i: data(*i), name=name, tag=Tag.ELEMWISE)

    def element(*i: Var) -> Any:
        at = dict(zip(remaining, i, strict=True)) | {d: k.var for d, k in ks.items()}
        return function(data(*[at[d] for d in range(len(shape))]), ks)

    return te.compute(out, element, name=name, tag=tag)


def simple_reduction(name: str, reducer: Reducer, doc: str, operand: str = "of a number type") -> Reduction:
    """Return the function of a tensor, axes and ``keepdims`` that a reduction of elements makes."""

    def build(data: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """Return {doc} over some axes, or all, of a tensor {operand}.

        Negative axes count from the end; with ``keepdims`` those that are reduced stay, with extent 1.
        """

        def function(element: PrimExpr, ks: ReducedAxes) -> PrimExpr:
            return reducer(element, axis=list(ks.values()))

        result: Tensor = reduce_over(data, axis, keepdims, function, name, Tag.COMM_REDUCE)
        return result

    return named(build, name, doc=doc, operand=operand)


def lowest(dtype: str) -> PrimExpr:
    """Return the smallest value of a data type: minus infinity where there is one."""
    return -te.infinity(dtype) if dt.is_float(dtype) else te.min_value(dtype)


def highest(dtype: str) -> PrimExpr:
    """Return the largest value of a data type: infinity where there is one."""
    return te.infinity(dtype) if dt.is_float(dtype) else te.max_value(dtype)


_all = te.comm_reducer(lambda x, y: tir.And(x, y), lambda t: tir.const(True, t), name="all")
_any = te.comm_reducer(lambda x, y: tir.Or(x, y), lambda t: tir.const(False, t), name="any")

_largest = te.comm_reducer(lambda x, y: tir.Max(x, y), lowest, name="max")
_smallest = te.comm_reducer(lambda x, y: tir.Min(x, y), highest, name="min")
max = simple_reduction("max", _largest, "the largest element")
min = simple_reduction("min", _smallest, "the smallest element")
prod = simple_reduction("prod", te.prod, "the product")
all = simple_reduction("all", _all, "whether all hold", "of truth values")
any = simple_reduction("any", _any, "whether at least one holds", "of truth values")
_sum = simple_reduction("sum", te.sum, "the sum")


def sum(data: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the sum over some axes, or all.  A sum of truth values is whether one of them holds.

    Negative axes count from the end; with ``keepdims`` those that are reduced stay, with extent 1.
    """
    return any(data, axis, keepdims) if dt.is_bool(data.dtype) else _sum(data, axis, keepdims)


Comparison: TypeAlias = Callable[[PrimExpr, PrimExpr], PrimExpr]
"""Of two values; returns a truth value."""


def _equal(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return a.equal(b)


def arg_reducer(
    name: str, last: bool, before: Comparison, worst: Callable[[str], PrimExpr], same: Comparison = _equal
) -> Reducer:
    """Make a reduction of pairs (index, value) to the best value's pair; of equals the first one, or the last."""

    def combine(lhs: Pair, rhs: Pair) -> Pair:
        tie = lhs[0] > rhs[0] if last else lhs[0] < rhs[0]
        # The identity's index is -1: it loses against every element, also against one that is as bad.
        tie = tir.all(lhs[0] >= 0, tir.any(rhs[0] < 0, tie))
        left = tir.any(before(lhs[1], rhs[1]), tir.all(same(lhs[1], rhs[1]), tie))
        return Select(left, lhs[0], rhs[0]), Select(left, lhs[1], rhs[1])

    return te.comm_reducer(combine, lambda i, t: (tir.const(-1, i), worst(t)), name=name)


_ARG = {
    (name, last): arg_reducer(name, last, before, worst)
    for last in (False, True)
    for name, before, worst in (("argmax", lambda a, b: a > b, lowest), ("argmin", lambda a, b: a < b, highest))
}


def arg_reduce(data: Tensor, axis: Axes, keepdims: bool, name: str, reducer: Reducer, dtype: str = "int32") -> Tensor:
    """Return the first result of a reduction of pairs: indices of type ``dtype``, and elements."""
    shape = dims(data)

    def pair(value: PrimExpr, ks: ReducedAxes) -> Any:
        at: PrimExpr = tir.const(0, dtype)
        for d, k in ks.items():
            at = at * shape[d] + k.var
        return reducer((at.astype(dtype), value), axis=list(ks.values()))

    if not axes_of(axis, len(shape), name):
        return compute(shape, lambda *i: tir.const(0, dtype), name=name, tag=Tag.ELEMWISE)
    indices, _ = reduce_over(data, axis, keepdims, pair, f"{name}_pairs", Tag.COMM_REDUCE_IDX)
    return compute(dims(indices), lambda *i: indices(*i), name=name, tag=Tag.COMM_REDUCE_IDX)


def _arg_function(name: str, doc: str) -> Reduction:
    def build(data: Tensor, axis: Axes = None, keepdims: bool = False, select_last_index: bool = False) -> Tensor:
        """Return the int32 index of the {doc} element over some axes, or all, in their row-major order.

        Negative axes count from the end; with ``keepdims`` those that are reduced stay, with extent 1. With
        ``select_last_index`` the last of equal elements counts, else the first.
        """
        return arg_reduce(data, axis, keepdims, name, _ARG[name, select_last_index])

    return named(build, name, doc=doc)


argmax = _arg_function("argmax", "largest")
argmin = _arg_function("argmin", "smallest")


def count(data: Tensor, axis: Axes) -> Extent:
    """Return how many elements of ``data`` are reduced to one; None means all axes."""
    shape = dims(data)
    elements: Extent = 1
    for d in axes_of(axis, len(shape), "count"):
        elements = elements * shape[d]
    return elements


def divided(total: Tensor, by: Extent, name: str) -> Tensor:
    """Return a tensor divided by a number, in the tensor's own data type."""
    divisor = tir.const(by, total.dtype) if isinstance(by, int) else by.astype(total.dtype)
    return compute(dims(total), lambda *i: te.div(total(*i), divisor), name=name, tag=Tag.ELEMWISE)


def mean(data: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the mean over some axes, or all; of integers the quotient is cut off.

    Negative axes count from the end; with ``keepdims`` those that are reduced stay, with extent 1.
    """
    return divided(sum(data, axis, keepdims), count(data, axis), "mean")


def variance(data: Tensor, mean_value: Tensor, axis: Axes, keepdims: bool, unbiased: bool) -> Tensor:
    """Return the mean squared distance from a mean, which has all axes of ``data``, some of extent 1.

    If ``unbiased``, the sum of squares is divided by one less than the number of elements (Bessel's correction).
    """
    small = dims(mean_value)

    def square(*i: Var) -> PrimExpr:
        away = data(*i) - mean_value(
            *[0 if isinstance(e, int) and e == 1 else v for v, e in zip(i, small, strict=True)]
        )
        return away * away

    squares = compute(dims(data), square, name="squares", tag=Tag.BROADCAST)
    return divided(sum(squares, axis, keepdims), count(data, axis) - (1 if unbiased else 0), "variance")
