"""Sorting by rank: the position of an element is the number of elements that precede it.

Every place is computed on its own, so loops run in parallel and as vectors; the work grows with the square of the
extent.  Of equal elements the one that stands first comes first: the order is stable.  NaN is greater than any number.
Devices sort by kernels of their own (:mod:`compiler.topi.device.sort`) where the extents are numbers.

References
----------
Knuth, "The Art of Computer Programming", volume 3, section 5.2: sorting by counting (algorithm C).
"""

from __future__ import annotations

from compiler import te, tir
from compiler.ir.expr.primexpr import And, Not, Or, PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute, computes_by_threads
from compiler.topi.device import has_rows, precedes, sorted_rows
from compiler.topi.operands import Extent, axis_of, dims, replaced
from compiler.topi.tag import Tag

__all__ = ["argsort", "sort", "topk"]


def ranks(data: Tensor, axis: int, is_ascend: bool, valid_count: Tensor | None = None) -> Tensor:
    """Return each element's place when all, or the first ``valid_count`` of a row, are sorted along an axis."""
    k = te.reduce_axis((0, data.shape[axis]), name="k")

    def rank(*i: Var) -> PrimExpr:
        here, other = data(*i), data(*replaced(i, axis, k.var))
        earlier = k.var < i[axis]
        comes_first: PrimExpr = Or(
            precedes(other, here, is_ascend), And(Not(precedes(here, other, is_ascend)), earlier)
        )
        if valid_count is not None:
            count = valid_count(*i[:axis], *i[axis + 1 :])
            comes_first = tir.Select(i[axis] < count, tir.all(k.var < count, comes_first), earlier)
        return te.sum(comes_first.astype("int32"), axis=k)

    return compute(dims(data), rank, name="rank", tag=Tag.COMM_REDUCE)


def argsort(
    data: Tensor,
    valid_count: Tensor | None = None,
    axis: int = -1,
    is_ascend: bool = True,
    dtype: str = "float32",
) -> Tensor:
    """Return the indices of the elements in their order along an axis; equal elements stay in order.

    ``valid_count``, of the shape of ``data`` without the axis, is how many are sorted; those after stay in their
    places.
    """
    at = axis_of(axis, len(data.shape), "argsort")
    if computes_by_threads() and has_rows(data):
        _, places = sorted_rows(data, at, is_ascend, valid_count)
        return _first(places, at, dims(data)[at], dtype)
    return _indices(ranks(data, at, is_ascend, valid_count), at, dtype)


def _first(data: Tensor, axis: int, count: Extent, dtype: str) -> Tensor:
    """Return the first elements along an axis, of a data type."""
    shape = replaced(dims(data), axis, count)
    if shape == dims(data) and dtype == data.dtype:
        return data
    return compute(shape, lambda *i: data(*i).astype(dtype), name="first", tag=Tag.INJECTIVE)


def _indices(rank: Tensor, at: int, dtype: str = "int32", count: Extent | None = None) -> Tensor:
    """Return the index of the element of each rank along an axis: of the first ``count`` ranks, or of all."""
    old = dims(rank)
    k = te.reduce_axis((0, old[at]), name="k")

    def element(*i: Var) -> PrimExpr:
        here = rank(*replaced(i, at, k.var)).equal(i[at].astype("int32"))
        return te.sum(tir.Select(here, k.var.astype("int32"), tir.const(0, "int32")), axis=k)

    shape = replaced(old, at, old[at] if count is None else count)
    places = compute(shape, element, name="places", tag=Tag.COMM_REDUCE)
    return compute(shape, lambda *i: places(*i).astype(dtype), name="argsort", tag=Tag.ELEMWISE)


def _read(data: Tensor, places: Tensor, axis: int, name: str) -> Tensor:
    def element(*i: Var) -> PrimExpr:
        return data(*replaced(i, axis, places(*i).astype("int32")))

    return compute(dims(places), element, name=name, tag=Tag.INJECTIVE)


def sort(data: Tensor, axis: int = -1, is_ascend: bool = True) -> Tensor:
    """Return the elements in their order along an axis."""
    at = axis_of(axis, len(data.shape), "sort")
    if computes_by_threads() and has_rows(data):
        return sorted_rows(data, at, is_ascend)[0]
    return _read(data, _indices(ranks(data, at, is_ascend), at), at, "sort")


def topk(
    data: Tensor, k: Extent = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int32"
) -> list[Tensor]:
    """Return the first ``k`` elements in their order along an axis, or all where it is less than 1, and their indices.

    ``ret_type`` is ``both``, ``values`` or ``indices``; the smallest comes first if ``is_ascend``, else the largest.
    """
    at = axis_of(axis, len(data.shape), "topk")
    count = dims(data)[at] if isinstance(k, int) and k < 1 else k
    if computes_by_threads() and has_rows(data):
        ordered, order = sorted_rows(data, at, is_ascend)
        first = [_first(ordered, at, count, data.dtype), _first(order, at, count, dtype)]
        return {"values": first[:1], "indices": first[1:]}.get(ret_type, first)
    places = _indices(ranks(data, at, is_ascend), at, dtype, count)
    values = [_read(data, places, at, "topk")] if ret_type != "indices" else []
    return values + ([places] if ret_type != "values" else [])
