"""Scatter operators, as reductions over the updates that hit each element.

So every element is computed on its own and loops can run in parallel; the work is the product of the sizes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TypeAlias

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import PrimExpr, Var, convert
from compiler.te.definition.tensor import Tensor
from compiler.topi.arrays.indexing import saturated, wrapped
from compiler.topi.compute import compute
from compiler.topi.operands import (
    Extent,
    Index,
    Scalar,
    axis_of,
    constant,
    dims,
    flat_index,
    number,
    replaced,
    unflatten,
)
from compiler.topi.reduction import Reducer, highest, lowest
from compiler.topi.tag import Tag

__all__ = ["scatter_elements", "scatter_nd", "sparse_to_dense"]

REDUCTIONS = ("update", "add", "mul", "min", "max", "mean")

Hit: TypeAlias = Callable[[Sequence[Index], Sequence[Index]], tuple[PrimExpr, PrimExpr]]
"""``(indices of the result, indices of the updates)`` to whether the update hits, and its value."""
Value: TypeAlias = Callable[[PrimExpr, PrimExpr], PrimExpr]
"""``(whether an update hits, its value)`` to what is reduced."""
Combine: TypeAlias = Callable[[Tensor, Sequence[Extent], Hit, str], Tensor]


def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Tensor:
    """Return ``data`` with ``updates[i]`` put at ``i`` but for one axis, where ``indices[i]`` says where.

    Negative indices count from the end.  ``reduction`` says how several values at one place, and the one of ``data``,
    become one: ``update`` for the last update, ``add``, ``mul``, ``min``, ``max`` or ``mean``.
    """
    old, new = dims(data), dims(indices)
    at = axis_of(axis, len(old), "scatter_elements")

    def hit(i: Sequence[Index], k: Sequence[Index]) -> tuple[PrimExpr, PrimExpr]:
        point = replaced(i, at, k[0])
        inside = [v < e for d, (v, e) in enumerate(zip(i, new, strict=True)) if d != at and not _covers(e, old[d])]
        here = wrapped(indices(*point), old[at]).equal(i[at])
        return te.if_then_else(te.all(*inside), here, tir.const(False)) if inside else here, updates(*point)

    return _scatter(data, [new[at]], hit, reduction, "scatter_elements")


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """Return ``data`` with slices put at points; ``mode`` is as the reduction of :func:`scatter_elements`.

    ``indices`` are ``(M, …)``: the coordinates of each point stand along the first axis, whose extent is a constant;
    negative ones count from the end. The slices have the points' shape, then that of ``data`` without its first ``M``
    axes.
    """
    old, new = dims(data), dims(indices)
    count, points = constant(new[0], "scatter_nd"), new[1:]

    def hit(i: Sequence[Index], k: Sequence[Index]) -> tuple[PrimExpr, PrimExpr]:
        same = [wrapped(indices(m, *k), old[m]).equal(i[m]) for m in range(count)]
        return te.all(*same), updates(*k, *i[count:])

    return _scatter(data, points, hit, mode, "scatter_nd")


def sparse_to_dense(
    sparse_indices: Tensor, output_shape: Sequence[int], sparse_values: Tensor, default_value: Scalar | Tensor = 0
) -> Tensor:
    """Return a tensor with values at indices, and a default elsewhere.

    There is one index, ``(count,)`` of them, or ``(count, len(output_shape))`` points; a value without dimensions is
    for all.
    """
    points, indices, values = dims(sparse_indices), sparse_indices, sparse_values
    value = default_value() if isinstance(default_value, Tensor) else number(default_value, values.dtype)
    base = compute(output_shape, lambda *i: value, name="default", tag=Tag.ELEMWISE)

    def hit(i: Sequence[Index], k: Sequence[Index]) -> tuple[PrimExpr, PrimExpr]:
        if len(points) == 2:
            coordinates = range(constant(points[1], "sparse_to_dense"))
            same = [saturated(indices(k[0], d)).equal(i[d]) for d in coordinates]
        else:
            same = [saturated(indices(*k[: len(points)])).equal(i[0])]
        return te.all(*same), values(*k) if len(values.shape) else values()

    return _scatter(base, list(points[:1]) or [1], hit, "update", "sparse_to_dense")


def _covers(extent: Extent, other: Extent) -> bool:
    return isinstance(extent, int) and isinstance(other, int) and extent >= other


def _scatter(data: Tensor, counts: Sequence[Extent], hit: Hit, reduction: str, name: str) -> Tensor:
    if reduction == "update":
        return _last(data, counts, hit, name)
    combine = _COMBINE.get(reduction)
    if combine is None:
        raise ArgumentError(f"{name}: the reduction must be one of {', '.join(REDUCTIONS)}, got {show(reduction)}")
    return combine(data, counts, hit, name)


def _reduced(data: Tensor, counts: Sequence[Extent], hit: Hit, reduce: Reducer, name: str, value: Value) -> Tensor:
    """Return a reduction over all updates of ``value(whether it hits, the update)``."""
    ks = [te.reduce_axis((0, c), name=f"k{n}") for n, c in enumerate(counts)]
    if not ks:
        return compute(dims(data), lambda *i: value(*hit(i, ())), name=name, tag=Tag.INJECTIVE)
    at = [k.var for k in ks]
    return compute(dims(data), lambda *i: reduce(value(*hit(i, at)), axis=ks), name=name, tag=Tag.COMM_REDUCE)


def _last(data: Tensor, counts: Sequence[Extent], hit: Hit, name: str) -> Tensor:
    """Look for the last update that hits, then read it."""

    def place(i: Sequence[Index], at: Sequence[Index]) -> PrimExpr:
        return tir.Select(hit(i, at)[0], convert(flat_index(at, counts) + 0), tir.const(-1, "int32"))

    ks = [te.reduce_axis((0, c), name=f"k{n}") for n, c in enumerate(counts)]
    at = [k.var for k in ks]
    if ks:
        places = compute(dims(data), lambda *i: te.max(place(i, at), axis=ks), name=f"{name}_last", tag=Tag.COMM_REDUCE)
    else:
        places = compute(dims(data), lambda *i: place(i, ()), name=f"{name}_last", tag=Tag.INJECTIVE)

    def element(*i: Var) -> PrimExpr:
        last = places(*i)
        return te.if_then_else(last >= 0, hit(i, unflatten(te.max(last, 0), counts))[1], data(*i))

    return compute(dims(data), element, name=name, tag=Tag.INJECTIVE)


def _simple(
    reduce: Reducer, identity: Callable[[str], PrimExpr], function: Callable[[PrimExpr, PrimExpr], PrimExpr]
) -> Combine:
    def run(data: Tensor, counts: Sequence[Extent], hit: Hit, name: str) -> Tensor:
        def value(here: PrimExpr, update: PrimExpr) -> PrimExpr:
            return tir.Select(here, update, identity(data.dtype))

        part = _reduced(data, counts, hit, reduce, f"{name}_part", value)
        return compute(dims(data), lambda *i: function(data(*i), part(*i)), name=name, tag=Tag.ELEMWISE)

    return run


def _mean(data: Tensor, counts: Sequence[Extent], hit: Hit, name: str) -> Tensor:
    zero, one = tir.const(0, data.dtype), tir.const(1, data.dtype)
    total = _reduced(data, counts, hit, te.sum, f"{name}_sum", lambda here, update: tir.Select(here, update, zero))
    count = _reduced(data, counts, hit, te.sum, f"{name}_count", lambda here, update: tir.Select(here, one, zero))
    # of unsigned integers "/" is refused elsewhere, as it may round in several ways: they have no negative quotients
    divide = te.floordiv if dt.is_uint(data.dtype) else operator.truediv
    return compute(dims(data), lambda *i: divide(data(*i) + total(*i), count(*i) + one), name=name, tag=Tag.ELEMWISE)


_COMBINE: dict[str, Combine] = {
    "add": _simple(te.sum, lambda t: tir.const(0, t), lambda a, b: a + b),
    "mul": _simple(te.prod, lambda t: tir.const(1, t), lambda a, b: a * b),
    "min": _simple(te.comm_reducer(tir.fminimum, highest, name="min"), highest, tir.fminimum),
    "max": _simple(te.comm_reducer(tir.fmaximum, lowest, name="max"), lowest, tir.fmaximum),
    "mean": _mean,
}
