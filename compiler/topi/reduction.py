"""Reductions of a tensor over some of its axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.primexpr import Select
from compiler.topi.tag import Tag
from compiler.topi.util import axes_of, dims

Reducer = Callable[..., Any]


def reduce_over(data: Any, axis: Any, keepdims: bool, function: Callable[..., Any], name: str, tag: Tag) -> Any:
    """Return ``function(element, its index in all reduced axes as one, the axes)`` over some axes; None means all.

    Parameters
    ----------
    keepdims : bool
        Whether the axes that are reduced stay, with extent 1.
    """
    shape = dims(data)
    over = axes_of(axis, len(shape), name)
    ks = {d: te.reduce_axis((0, shape[d]), name=f"k{n}") for n, d in enumerate(over)}
    kept = [d for d in range(len(shape)) if keepdims or d not in ks]

    def element(*i: Any) -> Any:
        at = dict(zip(kept, i, strict=True)) | {d: k.var for d, k in ks.items()}
        return function(data(*[at[d] for d in range(len(shape))]), ks, list(ks.values()))

    out = tuple(1 if d in ks else shape[d] for d in kept)
    if not ks:
        return te.compute(out, lambda *i: data(*i), name=name, tag=Tag.ELEMWISE)
    return te.compute(out, element, name=name, tag=tag)


def _simple(name: str, reducer: Reducer, doc: str) -> Reducer:
    def build(data: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return reduce_over(data, axis, keepdims, lambda e, ks, over: reducer(e, axis=over), name, Tag.COMM_REDUCE)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"Return {doc} over some axes; None means all."
    return build


def lowest(dtype: str) -> Any:
    """Return the smallest value of a data type: minus infinity where there is one."""
    return -te.infinity(dtype) if dt.is_float(dtype) else te.min_value(dtype)


def highest(dtype: str) -> Any:
    """Return the largest value of a data type: infinity where there is one."""
    return te.infinity(dtype) if dt.is_float(dtype) else te.max_value(dtype)


_all = te.comm_reducer(lambda x, y: tir.And(x, y), lambda t: tir.const(True, t), name="all")
_any = te.comm_reducer(lambda x, y: tir.Or(x, y), lambda t: tir.const(False, t), name="any")

_largest = te.comm_reducer(lambda x, y: tir.Max(x, y), lowest, name="max")
_smallest = te.comm_reducer(lambda x, y: tir.Min(x, y), highest, name="min")
max = _simple("max", _largest, "the largest element")
min = _simple("min", _smallest, "the smallest element")
prod = _simple("prod", te.prod, "the product")
all = _simple("all", _all, "whether all hold")
any = _simple("any", _any, "whether at least one holds")
_sum = _simple("sum", te.sum, "the sum")


def sum(data: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the sum over some axes; None means all.  A sum of truth values is whether one of them holds."""
    return any(data, axis, keepdims) if dt.is_bool(data.dtype) else _sum(data, axis, keepdims)


def _arg_reducer(name: str, last: bool, before: Callable[[Any, Any], Any], worst: Callable[[str], Any]) -> Reducer:
    """Make a reduction of pairs (index, value) to the best value's pair; of equals the first one, or the last."""

    def combine(lhs: Any, rhs: Any) -> Any:
        tie = lhs[0] > rhs[0] if last else lhs[0] < rhs[0]
        # The identity's index is -1: it loses against every element, also against one that is as bad.
        tie = tir.all(lhs[0] >= 0, tir.any(rhs[0] < 0, tie))
        left = tir.any(before(lhs[1], rhs[1]), tir.all(lhs[1].equal(rhs[1]), tie))
        return Select(left, lhs[0], rhs[0]), Select(left, lhs[1], rhs[1])

    return te.comm_reducer(combine, lambda i, t: (tir.const(-1, i), worst(t)), name=name)  # type: ignore[no-any-return]


_ARG = {
    (name, last): _arg_reducer(name, last, before, worst)
    for last in (False, True)
    for name, before, worst in (
        ("argmax", lambda a, b: a > b, lowest),
        ("argmin", lambda a, b: a < b, highest),
    )
}


def _arg_reduce(data: Any, axis: Any, keepdims: bool, name: str, last: bool) -> Any:
    shape = dims(data)
    reducer = _ARG[name, last]

    def pair(value: Any, ks: dict[int, Any], over: list[Any]) -> Any:
        at: Any = tir.const(0, "int32")
        for d, k in ks.items():
            at = at * shape[d] + k.var
        return reducer((at.astype("int32"), value), axis=over)

    if not axes_of(axis, len(shape), name):
        return te.compute(shape, lambda *i: tir.const(0, "int32"), name=name, tag=Tag.ELEMWISE)
    pairs = reduce_over(data, axis, keepdims, pair, f"{name}_pairs", Tag.COMM_REDUCE_IDX)
    return te.compute(dims(pairs[0]), lambda *i: pairs[0](*i), name=name, tag=Tag.COMM_REDUCE_IDX)


def argmax(data: Any, axis: Any = None, keepdims: bool = False, select_last_index: bool = False) -> Any:
    """Return where the largest element over some axes stands, counted as if these axes were one."""
    return _arg_reduce(data, axis, keepdims, "argmax", select_last_index)


def argmin(data: Any, axis: Any = None, keepdims: bool = False, select_last_index: bool = False) -> Any:
    """Return where the smallest element over some axes stands, counted as if these axes were one."""
    return _arg_reduce(data, axis, keepdims, "argmin", select_last_index)


def count(data: Any, axis: Any) -> Any:
    """Return how many elements of ``data`` one element of its reduction is made of."""
    shape = dims(data)
    found: Any = 1
    for d in axes_of(axis, len(shape), "count"):
        found = found * shape[d]
    return found


def divided(total: Any, by: Any, name: str) -> Any:
    """Return a tensor divided by a number, an int or an expression, in the tensor's own data type."""
    divisor = tir.const(by, total.dtype) if isinstance(by, int) else by.astype(total.dtype)
    return te.compute(dims(total), lambda *i: te.div(total(*i), divisor), name=name, tag=Tag.ELEMWISE)


def mean(data: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the mean over some axes; None means all."""
    return divided(sum(data, axis, keepdims), count(data, axis), "mean")


def variance(data: Any, mean_value: Any, axis: Any, keepdims: bool, unbiased: bool) -> Any:
    """Return the mean squared distance from ``mean_value``, which has all axes of ``data``, some of extent 1.

    Parameters
    ----------
    unbiased : bool
        Whether the sum of squares is divided by one less than the number of elements.
    """
    small = dims(mean_value)

    def square(*i: Any) -> Any:
        away = data(*i) - mean_value(
            *[0 if isinstance(e, int) and e == 1 else v for v, e in zip(i, small, strict=True)]
        )
        return away * away

    squares = te.compute(dims(data), square, name="squares", tag=Tag.BROADCAST)
    return divided(sum(squares, axis, keepdims), count(data, axis) - (1 if unbiased else 0), "variance")
