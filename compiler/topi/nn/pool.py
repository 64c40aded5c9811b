"""Pooling over any number of spatial dimensions, in any layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.compute import compute, computes_by_threads
from compiler.topi.extrema import OF_TE, Extremum
from compiler.topi.nn.convolution.conv import spatial_letters
from compiler.topi.nn.pad import pad
from compiler.topi.operands import Extent, Index, constant, dims, product
from compiler.topi.reduction import Reducer
from compiler.topi.tag import Tag

Counter: TypeAlias = Callable[[Sequence[Index]], PrimExpr]
"""The indices of an output element to the number of elements of its window that count."""


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """The attributes of a pooling; one number for each spatial dimension in each field.

    ``strides`` and ``dilation`` are how far windows and the elements of one are apart; a last window that is not full
    may reach further than the padding, ``before`` and ``after``.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    out: tuple[Extent, ...]
    layout: str

    def reach(self, d: int) -> Extent:
        """Return how many padded elements the windows of a spatial dimension, from 0 on, reach over."""
        return (self.out[d] - 1) * self.strides[d] + (self.kernel[d] - 1) * self.dilation[d] + 1


def spatial_axes(name: str) -> list[int]:
    """Return the positions of the spatial axes in a layout."""
    axes = layout(name).axes
    return [next(p for p, a in enumerate(axes) if a.letter == letter) for letter in spatial_letters(name)]


def pad_windows(data: Tensor, spec: PoolSpec, fill: PrimExpr | int) -> Tensor:
    """Return the data of a pooling with the padding that its windows reach."""
    shape = dims(data)
    before, after = [0] * data.ndim, [0] * data.ndim
    for d, p in enumerate(spatial_axes(spec.layout)):
        reach, extent = spec.reach(d), shape[p]
        before[p] = spec.before[d]
        if isinstance(reach, int) and isinstance(extent, int):
            after[p] = max(0, reach - extent - spec.before[d])
        else:
            after[p] = spec.after[d]
    return pad(data, before, after, fill, name="pool_pad")


def _pooled(
    data: Tensor, spec: PoolSpec, fill: PrimExpr | int, reduce: Reducer, tag: Tag, by_dimension: bool = False
) -> Tensor:
    """Return what windows are reduced to, in one step or along one dimension after the other, the last one first."""
    axes, pooled = spatial_axes(spec.layout), pad_windows(data, spec, fill)
    every = list(range(len(axes)))
    for step in [[d] for d in reversed(every)] if by_dimension else [every]:
        pooled = _reduced(pooled, {axes[d]: d for d in step}, spec, reduce, tag)
    return pooled


def _reduced(data: Tensor, along: dict[int, int], spec: PoolSpec, reduce: Reducer, tag: Tag) -> Tensor:
    """Return what windows of padded data are reduced to along some axes, each with its spatial dimension."""
    result = [spec.out[along[p]] if p in along else extent for p, extent in enumerate(dims(data))]
    window = {p: te.reduce_axis((0, spec.kernel[d]), name=f"r{d}") for p, d in along.items()}

    def element(*at: Var) -> PrimExpr:
        read: list[Index] = list(at)
        for p, d in along.items():
            read[p] = at[p] * spec.strides[d] + window[p].var * spec.dilation[d]
        return reduce(data(*read), axis=list(window.values()))

    return compute(result, element, name=str(tag), tag=tag)


def max_pool(data: Tensor, spec: PoolSpec, largest: Extremum = OF_TE) -> Tensor:
    """Return the largest element of each window."""
    one_by_one = sum(k * prod(spec.strides[:d]) for d, k in enumerate(spec.kernel))
    by_dimension = not computes_by_threads() and 2 * one_by_one <= prod(spec.kernel)
    return _pooled(data, spec, largest.identity(data.dtype), largest.reduce, Tag.POOL_MAX, by_dimension)


def avg_pool(data: Tensor, spec: PoolSpec, count_include_pad: bool) -> Tensor:
    """Return the mean of each window; of integers the quotient is cut off."""
    total = _pooled(data, spec, 0, te.sum, Tag.POOL_SUM)
    count = counter(spec, dims(data), count_include_pad)

    def element(*at: Var) -> PrimExpr:
        elements = count(at).astype(data.dtype)
        return total(*at) / elements if data.dtype.startswith("float") else te.div(total(*at), elements)

    return compute(total.shape, element, name="pool_avg", tag=Tag.ELEMWISE)


def counter(spec: PoolSpec, shape: Sequence[Extent], count_include_pad: bool) -> Counter:
    """Return the function that tells how many elements of the window of an output element count, 1 at least."""
    axes = spatial_axes(spec.layout)
    if _never_cut(spec, [shape[p] for p in axes], count_include_pad):
        return lambda at: tir.const(prod(spec.kernel), "int32")

    def count(at: Sequence[Index]) -> PrimExpr:
        elements: Extent = 1
        for d, p in enumerate(axes):
            low: Extent = -spec.before[d] if count_include_pad else 0
            high = shape[p] + spec.after[d] if count_include_pad else shape[p]
            start = at[p] * spec.strides[d] - spec.before[d]
            elements = elements * _inside(start, spec.kernel[d], spec.dilation[d], low, high)
        return te.max(elements, 1)

    return count


def _never_cut(spec: PoolSpec, extents: Sequence[Extent], count_include_pad: bool) -> bool:
    """Return whether all elements of every window count."""
    for d, extent in enumerate(extents):
        reach = spec.reach(d) - spec.before[d]
        if not isinstance(reach, int) or not isinstance(extent, int):
            return False
        if reach > extent + (spec.after[d] if count_include_pad else 0) or (spec.before[d] and not count_include_pad):
            return False
    return True


def _inside(start: Index, kernel: int, dilation: int, low: Extent, high: Extent) -> PrimExpr:
    """Return how many of ``start, start + dilation, …`` lie in ``[low, high)``."""
    first = te.max(low - start + dilation - 1, 0) // dilation
    last = te.min((high - 1 - start) // dilation, kernel - 1)
    return last - first + 1


def global_pool(data: Tensor, name: str, kind: str, largest: Extremum = OF_TE) -> Tensor:
    """Return the mean or the largest element of each channel of each image of the layout ``name``."""
    axes, shape = spatial_axes(name), dims(data)
    window = [te.reduce_axis((0, shape[p]), name=f"r{d}") for d, p in enumerate(axes)]
    result = [1 if p in axes else extent for p, extent in enumerate(shape)]
    reduce: Reducer = largest.reduce if kind == "max" else te.sum

    def element(*at: Var) -> PrimExpr:
        read = list(at)
        for d, p in enumerate(axes):
            read[p] = window[d].var
        return reduce(data(*read), axis=window)

    pooled = compute(result, element, name=f"global_{kind}", tag=Tag.COMM_REDUCE)
    if kind == "max":
        return pooled
    total = product([shape[p] for p in axes])
    count = tir.const(total, data.dtype) if isinstance(total, int) else total.astype(data.dtype)
    return compute(result, lambda *at: te.div(pooled(*at), count), name="global_mean", tag=Tag.ELEMWISE)


def adaptive_pool(data: Tensor, out: Sequence[int], name: str, kind: str, largest: Extremum = OF_TE) -> Tensor:
    """Return the mean or the largest element of as many windows as the result has elements.

    Window ``i`` of ``n`` reaches from ``floor(i * extent / n)`` to ``ceil((i + 1) * extent / n)``; the spatial extents
    of the data, in the layout ``name``, are constants.
    """
    axes = spatial_axes(name)
    extents = [constant(dims(data)[p], "adaptive_pool") for p in axes]
    sizes = [e // n if e % n == 0 else min(e // n + 2, e) for e, n in zip(extents, out, strict=True)]
    window = [te.reduce_axis((0, size), name=f"r{d}") for d, size in enumerate(sizes)]
    result = list(dims(data))
    for p, n in zip(axes, out, strict=True):
        result[p] = n
    reduce: Reducer = largest.reduce if kind == "max" else te.sum

    def start(i: Var, d: int) -> PrimExpr:
        return i * extents[d] // out[d]

    def end(i: Var, d: int) -> PrimExpr:
        return ((i + 1) * extents[d] + out[d] - 1) // out[d]

    def element(*at: Var) -> PrimExpr:
        read: list[Index] = list(at)
        inside: list[PrimExpr] = []
        for d, p in enumerate(axes):
            place = start(at[p], d) + window[d].var
            read[p] = place
            inside += [place < end(at[p], d)] if extents[d] % out[d] else []
        value = data(*read)
        identity = largest.identity(data.dtype) if kind == "max" else tir.const(0, data.dtype)
        return reduce(te.if_then_else(te.all(*inside), value, identity) if inside else value, axis=window)

    pooled = compute(result, element, name=f"adaptive_{kind}", tag=Tag.COMM_REDUCE)
    if kind == "max":
        return pooled

    def mean(*at: Var) -> PrimExpr:
        count = product([end(at[p], d) - start(at[p], d) for d, p in enumerate(axes)])
        elements = tir.const(count, data.dtype) if isinstance(count, int) else count.astype(data.dtype)
        return te.div(pooled(*at), elements)

    return compute(result, mean, name="adaptive_mean", tag=Tag.ELEMWISE)
