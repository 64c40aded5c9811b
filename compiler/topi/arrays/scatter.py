"""Scatter operators: the data is copied, then updates are put into it one by one.

On devices a thread computes each element, from all updates that hit it; the work is the product of the sizes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import PrimExpr, convert
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.arrays.indexing import saturated, wrapped
from compiler.topi.compute import by_loops, compute, computes_by_threads, nested
from compiler.topi.device.rows import Rows, has_rows, launched
from compiler.topi.operands import (
    Extent,
    Index,
    Scalar,
    Shape,
    axis_of,
    constant,
    dims,
    number,
    product,
    replaced,
    unflatten,
)
from compiler.topi.tag import Tag

__all__ = ["invert_permutation", "scatter_elements", "scatter_nd", "sparse_to_dense"]


@dataclass(frozen=True, slots=True)
class _Updates:
    """Values at points, whose ``coordinates`` are places along the first axes of the result, read from the indices.

    Where indices say the place along one ``axis`` only, the points have all axes of the result.
    """

    indices: Tensor
    values: Tensor
    points: Sequence[Extent]
    coordinates: Callable[[BufferVar, Sequence[Index]], Sequence[Index]]
    axis: int | None = None

    def value(self, values: BufferVar, i: Sequence[Index]) -> PrimExpr:
        """Return the value at a point, and a place in its slice."""
        return values[tuple(i) if dims(self.values) else ()]


def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Tensor:
    """Return ``data`` with ``updates[i]`` put at ``i`` but for one axis, where ``indices[i]`` says where.

    Negative indices count from the end.  ``reduction`` says how several values at one place, and the one of ``data``,
    become one: ``update`` for the last update, ``add``, ``mul``, ``min``, ``max`` or ``mean``.
    """
    old = dims(data)
    at = axis_of(axis, len(old), "scatter_elements")

    def coordinates(indices: BufferVar, point: Sequence[Index]) -> Sequence[Index]:
        return replaced(point, at, wrapped(indices[tuple(point)], old[at]))

    found = _Updates(indices, updates, dims(indices), coordinates, at)
    return _scatter(data, found, reduction, "scatter_elements")


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """Return ``data`` with slices put at points; ``mode`` is as the reduction of :func:`scatter_elements`.

    ``indices`` are ``(M, …)``: the coordinates of each point stand along the first axis, whose extent is a constant;
    negative ones count from the end. The slices have the points' shape, then that of ``data`` without its first ``M``
    axes.
    """
    old, new = dims(data), dims(indices)
    count, points = constant(new[0], "scatter_nd"), new[1:]

    def coordinates(indices: BufferVar, point: Sequence[Index]) -> Sequence[Index]:
        return [wrapped(indices[m, *point], old[m]) for m in range(count)]

    return _scatter(data, _Updates(indices, updates, points, coordinates), mode, "scatter_nd")


def sparse_to_dense(
    sparse_indices: Tensor, output_shape: Sequence[Extent], sparse_values: Tensor, default_value: Scalar | Tensor = 0
) -> Tensor:
    """Return a tensor with values at indices, and a default elsewhere.

    There is one index, ``(count,)`` of them, or ``(count, len(output_shape))`` points; a value without dimensions is
    for all.
    """
    shape = dims(sparse_indices)
    value = default_value() if isinstance(default_value, Tensor) else number(default_value, sparse_values.dtype)
    base = compute(output_shape, lambda *i: value, name="default", tag=Tag.ELEMWISE)

    def coordinates(indices: BufferVar, point: Sequence[Index]) -> Sequence[Index]:
        if len(shape) == 2:
            return [saturated(indices[point[0], d]) for d in range(constant(shape[1], "sparse_to_dense"))]
        return [saturated(indices[tuple(point[: len(shape)])])]

    updates = _Updates(sparse_indices, sparse_values, shape[:1] or (1,), coordinates)
    return _scatter(base, updates, "update", "sparse_to_dense")


def invert_permutation(data: Tensor) -> Tensor:
    """Return the index at which each number from 0 to n - 1 stands in a vector; 0 for one that does not."""
    places = compute(dims(data), lambda i: i.astype(data.dtype), name="places", tag=Tag.INJECTIVE)
    return sparse_to_dense(data, dims(data), places)


def _scatter(data: Tensor, updates: _Updates, reduction: str, name: str) -> Tensor:
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"{name}: the reduction must be one of {', '.join(REDUCTIONS)}, got {show(reduction)}")
    emit = _by_threads if computes_by_threads() and has_rows(data) else _one_by_one

    def loops(ib: IRBuilder, *memory: BufferVar) -> None:
        emit(ib, dims(data), updates, reduction, memory)

    return by_loops([data, updates.indices, updates.values], [(dims(data), data.dtype)], loops, name, name)[0]


def _one_by_one(ib: IRBuilder, shape: Shape, updates: _Updates, reduction: str, memory: Sequence[BufferVar]) -> None:
    """Copy the data, then put updates into it in their order."""
    source, indices, values, result = memory
    one = tir.const(1, result.dtype)
    count = ib.allocate(result.dtype, shape, "count") if reduction == "mean" else None
    with nested(ib, shape, "i") as i:
        result[i] = source[i]
        if count is not None:
            count[i] = one
    with nested(ib, updates.points, "k") as point:
        places = updates.coordinates(indices, point)
        at = [ib.let(f"at{d}", place) for d, place in enumerate(places)]
        inside = [c for place, extent in zip(at, shape, strict=False) for c in (place >= 0, place < extent)]
        with ib.if_scope(te.all(*inside)), nested(ib, shape[len(at) :], "i") as rest:
            value = updates.value(values, (*point, *rest))
            result[*at, *rest] = _FUNCTIONS[reduction](result[*at, *rest], value)
            if count is not None:
                count[*at, *rest] = count[*at, *rest] + one
    if count is not None:
        with nested(ib, shape, "i") as i:
            result[i] = _divided(result[i], count[i])


def _by_threads(ib: IRBuilder, shape: Shape, updates: _Updates, reduction: str, memory: Sequence[BufferVar]) -> None:
    """Let a thread look for the updates of each element."""
    source, indices, values, result = memory
    axis, elements = updates.axis, constant(product(shape), "scatter")
    with launched(ib, Rows((elements,), 0)) as launch, ib.if_scope(launch.exists):
        i = unflatten(launch.place, shape)
        value, hits = (ib.allocate(result.dtype, 1, name, "local") for name in ("value", "hits"))
        value[0], hits[0] = source[tuple(i)], tir.const(1, result.dtype)
        with nested(ib, updates.points if axis is None else [updates.points[axis]], "k") as k:
            point = k if axis is None else replaced(i, axis, k[0])
            with ib.if_scope(te.all(*(p < extent for p, extent in zip(point, updates.points, strict=True)))):
                at = updates.coordinates(indices, point)
                with ib.if_scope(te.all(*(convert(place).equal(here) for place, here in zip(at, i, strict=False)))):
                    update = updates.value(values, (*point, *i[len(at) :]))
                    value[0] = _FUNCTIONS[reduction](value[0], update)
                    hits[0] = hits[0] + tir.const(1, result.dtype)
        result[tuple(i)] = _divided(value[0], hits[0]) if reduction == "mean" else value[0]


def _divided(total: PrimExpr, count: PrimExpr) -> PrimExpr:
    # of unsigned integers "/" is refused elsewhere, as it may round in several ways: they have no negative quotients
    return te.floordiv(total, count) if dt.is_uint(total.dtype) else total / count


_FUNCTIONS: dict[str, Callable[[PrimExpr, PrimExpr], PrimExpr]] = {
    "update": lambda old, new: new,
    "add": operator.add,
    "mul": operator.mul,
    "min": tir.fminimum,
    "max": tir.fmaximum,
    "mean": operator.add,
}
REDUCTIONS = tuple(_FUNCTIONS)
