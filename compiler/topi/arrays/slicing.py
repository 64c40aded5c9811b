"""``strided_slice``: slices whose bounds are numbers, expressions or values of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te, tir
from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import Extent, Index, axis_of, constant, dims, number
from compiler.topi.tag import Tag

__all__ = ["dynamic_strided_slice", "strided_slice"]


def dynamic_strided_slice(
    a: Tensor, begin: Tensor, end: Tensor, strides: Tensor, output_shape: Sequence[Extent]
) -> Tensor:
    """Return every ``strides[d]``-th element from ``begin[d]`` on, along each axis, where these are values of tensors.

    These are vectors of integers with an element for each axis; negative beginnings count from the end.
    ``output_shape`` says where to stop, and ``end`` is not read. No element outside ``a`` is read: its last or first
    one is. Raises ArgumentError if there is not one extent for each axis.
    """
    extents = dims(a)
    if len(output_shape) != len(extents):
        raise ArgumentError(
            f"dynamic_strided_slice: {len(extents)} axes, but {len(output_shape)} extents of the result"
        )

    def place(d: int, index: Var) -> PrimExpr:
        extent, start, step = number(extents[d], "int64"), begin(d).astype("int64"), strides(d).astype("int64")
        start = tir.Select(start < 0, start + extent, start)
        start = tir.Select(step < 0, te.min(start, extent - 1), te.min(start, extent))
        at = te.max(start, 0) + index.astype("int64") * step
        return te.max(te.min(at, extent - 1), 0)

    def element(*i: Var) -> PrimExpr:
        return a(*[place(d, v) for d, v in enumerate(i)])

    return compute(output_shape, element, name="dynamic_strided_slice", tag=Tag.INJECTIVE)


Bounds = Sequence[Extent] | Tensor


def strided_slice(
    a: Tensor,
    begin: Bounds,
    end: Bounds,
    strides: Bounds | None = None,
    axes: Sequence[int] | None = None,
    slice_mode: str = "end",
    assume_inbound: bool = True,
) -> Tensor:
    """Return the elements from ``begin`` to ``end``, along some axes, as Python's slices do.

    Where the bounds are values of tensors, the extents of the result are new variables, which have the extents of the
    buffer that it is written to. Raises ArgumentError if a step is zero or not a constant, there is no such axis or
    mode, ``begin``, ``end`` and ``axes`` have different lengths, or bounds that are values of tensors come with axes or
    sizes.

    Parameters
    ----------
    end : sequence of (int or PrimExpr), or Tensor
        The index to stop before, or where ``slice_mode`` is ``size`` how many elements; then -1 takes all that follow.
    strides : sequence of int, or Tensor, optional
        1 when left out; negative ones go backwards.  Of no effect with ``size``.
    axes : sequence of int, optional
        What is sliced; the first axes when left out.
    assume_inbound : bool
        Whether ``begin`` and ``end`` lie inside of extents that are not constants; otherwise they are clipped to them.
        What is outside of constant extents is never taken.
    """
    if isinstance(begin, Tensor) or isinstance(end, Tensor) or isinstance(strides, Tensor):
        return _slice_by_values(a, begin, end, strides, plain=axes is None and slice_mode == "end")
    shape = dims(a)
    steps = list(strides or ()) if slice_mode == "end" else []
    at = [axis_of(d, len(shape), "strided_slice") for d in (range(len(begin)) if axes is None else axes)]
    if slice_mode not in ("end", "size"):
        raise ArgumentError(f"strided_slice: slice_mode must be 'end' or 'size', got {show(slice_mode)}")
    if not len(begin) == len(end) == len(at) or 0 in steps:
        raise ArgumentError(
            f"strided_slice: begin and end must have an entry for each of {len(at)} axes, and strides must not be "
            f"zero, got {show(begin)}, {show(end)}, {show(strides)}"
        )
    ranges: list[tuple[Index, int, Extent]] = [(0, 1, extent) for extent in shape]
    for n, d in enumerate(at):
        step = constant(_value(steps[n] if n < len(steps) else 1), "strided_slice")
        first, last, extent = (_value(e) for e in (begin[n], end[n], shape[d]))
        if isinstance(first, int) and isinstance(last, int) and isinstance(extent, int):
            places = range(extent)[slice(first, _stop(first, last, extent, slice_mode), step)]
            ranges[d] = (places.start, step, len(places))
        else:
            ranges[d] = _symbolic_range(first, last, extent, step, slice_mode, assume_inbound)
    firsts, each, counts = zip(*ranges, strict=True) if ranges else ((), (), ())
    return slice_places(a, firsts, each, counts)


def _value(extent: Extent) -> Extent:
    return extent.value if isinstance(extent, tir.IntImm) else extent


def _stop(begin: int, end: int, extent: int, slice_mode: str) -> int:
    """Return the index to stop before."""
    if slice_mode == "end":
        return end
    return extent if end < 0 else (begin + extent if begin < 0 else begin) + end


def _symbolic_range(
    begin: Extent, end: Extent, extent: Extent, step: int, slice_mode: str, assume_inbound: bool
) -> tuple[Index, int, Extent]:
    """Return the first index, the step and the number of elements, where a bound or the extent is no constant."""

    def from_front(index: Extent) -> Extent:
        return extent + index if isinstance(index, int) and index < 0 else index

    def clipped(index: Extent) -> Extent:
        if assume_inbound or index is extent or (isinstance(index, int) and index == 0):
            return index
        least, most = (0, extent) if step > 0 else (-1, extent - 1)
        return te.max(te.min(index, most), least)

    first = clipped(from_front(begin))
    if slice_mode == "size":
        last = extent if isinstance(end, int) and end < 0 else clipped(first + end)
    else:
        last = clipped(from_front(end))
    distance, size = (last - first, step) if step > 0 else (first - last, -step)
    count = distance if size == 1 else (distance + (size - 1)) // size
    return first, step, _simplified(count if assume_inbound else te.max(count, 0))


def _simplified(extent: Extent) -> Extent:
    return extent if isinstance(extent, int) else _value(Analyzer().simplify(extent))


def _slice_by_values(a: Tensor, begin: Bounds, end: Bounds, strides: Bounds | None, plain: bool) -> Tensor:
    """Return a slice with bounds of which at least one is a tensor."""
    rank = a.ndim
    if not plain:
        raise ArgumentError("strided_slice: bounds that are values of tensors come without axes and slice_mode 'size'")
    steps = [1] * rank if strides is None else strides
    shape = [Var("dim", "int32") for _ in range(rank)]
    return dynamic_strided_slice(a, _as_tensor(begin), _as_tensor(end), _as_tensor(steps), shape)


def _as_tensor(values: Bounds) -> Tensor:
    if isinstance(values, Tensor):
        return values

    def element(i: Var) -> PrimExpr:
        result = tir.const(0, "int64")
        for n, value in enumerate(values):
            result = tir.Select(i.equal(n), number(value, "int64"), result)
        return result

    return compute((len(values),), element, name="bounds", tag=Tag.INJECTIVE)


def slice_places(a: Tensor, begin: Sequence[Index], strides: Sequence[int], shape: Sequence[Extent]) -> Tensor:
    """Return every ``strides[d]``-th element from ``begin[d]`` on, along each axis."""

    def element(*i: Var) -> PrimExpr:
        return a(*[_place(v, b, s) for v, b, s in zip(i, begin, strides, strict=True)])

    return compute(shape, element, name="strided_slice", tag=Tag.INJECTIVE)


def _place(index: Index, begin: Index, stride: int) -> Index:
    steps = index if stride == 1 else index * stride
    return steps if isinstance(begin, int) and begin == 0 else steps + begin
