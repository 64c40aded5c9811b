"""Sorting: by merges on CPUs (:mod:`compiler.topi.arrays.merging`), on devices by kernels of their own.

Of equal elements the one that stands first comes first: the order is stable.  NaN is greater than any number.  Devices
sort (:mod:`compiler.topi.device.sort`) where the extents are numbers.
"""

from __future__ import annotations

from compiler import te
from compiler.ir.dtype import int_range
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar, IRBuilder
from compiler.topi.arrays.insertion import few_of, inserted
from compiler.topi.arrays.merging import merge_sorted
from compiler.topi.compute import by_loops, compute, computes_by_threads, nested
from compiler.topi.device import has_rows, sorted_rows
from compiler.topi.operands import Extent, axis_of, dims, replaced
from compiler.topi.tag import Tag

__all__ = ["argsort", "searchsorted", "sort", "topk"]


def argsort(
    data: Tensor, valid_count: Tensor | None = None, axis: int = -1, is_ascend: bool = True, dtype: str = "float32"
) -> Tensor:
    """Return the indices of the elements in their order along an axis; equal elements stay in order.

    ``valid_count``, of the shape of ``data`` without the axis, is how many are sorted; those after stay in their
    places.
    """
    at = axis_of(axis, len(data.shape), "argsort")
    if computes_by_threads() and has_rows(data):
        _, places = sorted_rows(data, at, is_ascend, valid_count)
        return _first(places, at, dims(data)[at], dtype)
    return merge_sorted(data, at, is_ascend, dims(data)[at], dtype, valid_count)[1]


def _first(data: Tensor, axis: int, count: Extent, dtype: str) -> Tensor:
    """Return the first elements along an axis, of a data type."""
    shape = replaced(dims(data), axis, count)
    if shape == dims(data) and dtype == data.dtype:
        return data
    return compute(shape, lambda *i: data(*i).astype(dtype), name="first", tag=Tag.INJECTIVE)


def sort(data: Tensor, axis: int = -1, is_ascend: bool = True) -> Tensor:
    """Return the elements in their order along an axis."""
    at = axis_of(axis, len(data.shape), "sort")
    if computes_by_threads() and has_rows(data):
        return sorted_rows(data, at, is_ascend)[0]
    return merge_sorted(data, at, is_ascend, dims(data)[at], "int32")[0]


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
    elif few := few_of(count, dims(data), at):
        first = [*inserted(data, at, is_ascend, few, dtype)]
    else:
        first = [*merge_sorted(data, at, is_ascend, count, dtype)]
    return {"values": first[:1], "indices": first[1:]}.get(ret_type, first)


def searchsorted(sorted_sequence: Tensor, values: Tensor, right: bool = False, out_dtype: str = "int64") -> Tensor:
    """Return how many elements of a sorted sequence, ``(…, n)``, stand before each value.

    The values have the other axes of the sequence, then any; if ``right``, equal elements stand before a value.  On
    CPUs each step halves what is left to search; threads of devices count.
    """
    *outer, extent = dims(sorted_sequence)

    def is_before(here: PrimExpr, value: PrimExpr) -> PrimExpr:
        return here <= value if right else here < value

    if computes_by_threads():
        k = te.reduce_axis((0, extent), name="k")

        def element(*i: Var) -> PrimExpr:
            before = is_before(sorted_sequence(*i[: len(outer)], k.var), values(*i))
            return te.sum(before.astype(out_dtype), axis=k)

        return compute(dims(values), element, name="searchsorted", tag=Tag.COMM_REDUCE)
    most = extent if isinstance(extent, int) else int_range("int32")[1]

    def loops(ib: IRBuilder, known: BufferVar, wanted: BufferVar, result: BufferVar) -> None:
        with nested(ib, dims(values), "i") as i:
            count = ib.allocate("int32", 1, "count", "local")
            count[0] = 0
            for step in (1 << bit for bit in reversed(range(most.bit_length()))):
                with ib.if_scope(count[0] <= extent - step):
                    here = known[*i[: len(outer)], count[0] + (step - 1)]
                    with ib.if_scope(is_before(here, wanted[i])):
                        count[0] = count[0] + step
            result[i] = count[0].astype(out_dtype)

    return by_loops([sorted_sequence, values], [(dims(values), out_dtype)], loops, "searchsorted")[0]
