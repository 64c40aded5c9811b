"""Sorting by counting: the place of an element is the number of elements that come before it.

Every place is found on its own, so loops run in parallel and as vectors; the work grows with the square of the extent.
Of equal elements the one that stands first comes first.
"""

from __future__ import annotations

from typing import Any

from compiler import te, tir
from compiler.ir.primexpr import Or
from compiler.topi.tag import Tag
from compiler.topi.util import axis_of, dims


def _at(i: Any, axis: int, index: Any) -> Any:
    return (*i[:axis], index, *i[axis + 1 :])


def ranks(data: Any, axis: int, is_ascend: bool) -> Any:
    """Return the place that each element has when all are sorted along an axis."""
    k = te.reduce_axis((0, data.shape[axis]), name="k")

    def rank(*i: Any) -> Any:
        here, other = data(*i), data(*_at(i, axis, k.var))
        before = other < here if is_ascend else other > here
        first = tir.all(other.equal(here), k.var < i[axis])
        return te.sum(Or(before, first).astype("int32"), axis=k)

    return te.compute(dims(data), rank, name="rank", tag=Tag.COMM_REDUCE)


def argsort(data: Any, axis: int = -1, is_ascend: bool = True, dtype: str = "int32", count: Any = None) -> Any:
    """Return where the elements stand in their order along an axis: the first ``count`` of them, all when left out."""
    old = dims(data)
    at = axis_of(axis, len(old), "argsort")
    rank = ranks(data, at, is_ascend)
    k = te.reduce_axis((0, old[at]), name="k")

    def element(*i: Any) -> Any:
        here = rank(*_at(i, at, k.var)).equal(i[at].astype("int32"))
        return te.sum(tir.Select(here, k.var.astype("int32"), tir.const(0, "int32")), axis=k)

    shape = _at(old, at, old[at] if count is None else count)
    places = te.compute(shape, element, name="places", tag=Tag.COMM_REDUCE)
    return te.compute(shape, lambda *i: places(*i).astype(dtype), name="argsort", tag=Tag.ELEMWISE)


def _read(data: Any, places: Any, axis: int, name: str) -> Any:
    shape = dims(places)
    return te.compute(shape, lambda *i: data(*_at(i, axis, places(*i).astype("int32"))), name=name, tag=Tag.INJECTIVE)


def sort(data: Any, axis: int = -1, is_ascend: bool = True) -> Any:
    """Return the elements in their order along an axis."""
    at = axis_of(axis, len(data.shape), "sort")
    return _read(data, argsort(data, at, is_ascend), at, "sort")


def topk(
    data: Any, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int32"
) -> list[Any]:
    """Return the ``k`` largest elements along an axis, or the smallest, in their order, and where they stand.

    Parameters
    ----------
    k : int
        All where it is less than 1.
    ret_type : {"both", "values", "indices"}
    """
    at = axis_of(axis, len(data.shape), "topk")
    count = dims(data)[at] if isinstance(k, int) and k < 1 else k
    places = argsort(data, at, is_ascend, dtype, count)
    values = [_read(data, places, at, "topk")] if ret_type != "indices" else []
    return values + ([places] if ret_type != "values" else [])
