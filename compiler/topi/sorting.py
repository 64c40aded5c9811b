"""Sorting by counting: the place of an element is the number of elements that come before it.

Every place is computed on its own, so loops run in parallel and as vectors; the work grows with the square of the
extent.  Of equal elements the one that stands first comes first: the order is stable.

References
----------
Knuth, "The Art of Computer Programming", volume 3, section 5.2: sorting by counting (algorithm C).
"""

from __future__ import annotations

from compiler import te, tir
from compiler.ir.primexpr import Or, PrimExpr, Var
from compiler.te.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import Extent, axis_of, dims, replaced
from compiler.topi.tag import Tag

__all__ = ["argsort", "sort", "topk"]


def ranks(data: Tensor, axis: int, is_ascend: bool) -> Tensor:
    """Return the place that each element has when all are sorted along an axis.

    Parameters
    ----------
    data : Tensor
    axis : int
        Not negative.
    is_ascend : bool
        Whether the smallest comes first.

    Returns
    -------
    Tensor
        Of the shape of ``data``; int32.
    """
    k = te.reduce_axis((0, data.shape[axis]), name="k")

    def rank(*i: Var) -> PrimExpr:
        here, other = data(*i), data(*replaced(i, axis, k.var))
        before = other < here if is_ascend else other > here
        first = tir.all(other.equal(here), k.var < i[axis])
        return te.sum(Or(before, first).astype("int32"), axis=k)

    return compute(dims(data), rank, name="rank", tag=Tag.COMM_REDUCE)


def argsort(
    data: Tensor, axis: int = -1, is_ascend: bool = True, dtype: str = "int32", count: Extent | None = None
) -> Tensor:
    """Return the indices of the elements in their order along an axis; equal elements stay in order.

    Parameters
    ----------
    data : Tensor
        Of any shape and number type.
    axis : int
        Negative ones count from the end.
    is_ascend : bool
        Whether the smallest comes first.
    dtype : str
        Of the indices.
    count : int or PrimExpr, optional
        How many indices, from the first one on; all when left out.

    Returns
    -------
    Tensor
        Of the shape of ``data``, but for ``count`` elements along the axis.

    Raises
    ------
    ArgumentError
        If there is no such axis.
    """
    old = dims(data)
    at = axis_of(axis, len(old), "argsort")
    rank = ranks(data, at, is_ascend)
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
    """Return the elements in their order along an axis.

    Parameters
    ----------
    data : Tensor
        Of any shape and number type.
    axis : int
        Negative ones count from the end.
    is_ascend : bool
        Whether the smallest comes first.

    Returns
    -------
    Tensor
        Of the shape and data type of ``data``.

    Raises
    ------
    ArgumentError
        If there is no such axis.
    """
    at = axis_of(axis, len(data.shape), "sort")
    return _read(data, argsort(data, at, is_ascend), at, "sort")


def topk(
    data: Tensor, k: Extent = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int32"
) -> list[Tensor]:
    """Return the first elements in their order along an axis, and their indices.

    Parameters
    ----------
    data : Tensor
        Of any shape and number type.
    k : int or PrimExpr
        How many; all where it is less than 1.
    axis : int
        Negative ones count from the end.
    ret_type : {"both", "values", "indices"}
        What is returned.
    is_ascend : bool
        Whether the smallest comes first, else the largest.
    dtype : str
        Of the indices.

    Returns
    -------
    list of Tensor
        The values, the indices, or both; of the shape of ``data``, but for ``k`` elements along the axis.

    Raises
    ------
    ArgumentError
        If there is no such axis.
    """
    at = axis_of(axis, len(data.shape), "topk")
    count = dims(data)[at] if isinstance(k, int) and k < 1 else k
    places = argsort(data, at, is_ascend, dtype, count)
    values = [_read(data, places, at, "topk")] if ret_type != "indices" else []
    return values + ([places] if ret_type != "values" else [])
