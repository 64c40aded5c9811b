"""Pooling over any number of spatial dimensions, in any layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from compiler import te, tir
from compiler.topi.layout import layout
from compiler.topi.nn.conv import spatial_letters
from compiler.topi.nn.pad import pad
from compiler.topi.tag import Tag
from compiler.topi.util import dims


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """What a pooling is besides its data; one number for each spatial dimension in each field.

    Attributes
    ----------
    kernel, strides, dilation : tuple of int
    before, after : tuple of int
        Padding; a last window that is not whole may reach further.
    out : tuple of int or PrimExpr
        Extents of the result.
    layout : str
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    out: tuple[Any, ...]
    layout: str


def places_of(name: str) -> list[int]:
    """Return the positions of the spatial axes in a layout."""
    axes = layout(name).axes
    return [next(p for p, a in enumerate(axes) if a.letter == letter) for letter in spatial_letters(name)]


def _pooled(data: Any, spec: PoolSpec, fill: Any, combine: Callable[..., Any], tag: Tag) -> Any:
    places, shape = places_of(spec.layout), dims(data)
    before, after, result = [0] * data.ndim, [0] * data.ndim, list(shape)
    for d, p in enumerate(places):
        reach = (spec.out[d] - 1) * spec.strides[d] + (spec.kernel[d] - 1) * spec.dilation[d] + 1
        before[p], result[p] = spec.before[d], spec.out[d]
        after[p] = (
            max(0, reach - shape[p] - spec.before[d])
            if isinstance(reach, int) and isinstance(shape[p], int)
            else spec.after[d]
        )
    padded = pad(data, before, after, fill, name="pool_pad")
    window = [te.reduce_axis((0, k), name=f"r{d}") for d, k in enumerate(spec.kernel)]

    def element(*at: Any) -> Any:
        read = list(at)
        for d, p in enumerate(places):
            read[p] = at[p] * spec.strides[d] + window[d].var * spec.dilation[d]
        return combine(padded(*read), axis=window)

    return te.compute(tuple(result), element, name=str(tag), tag=tag)


def max_pool(data: Any, spec: PoolSpec) -> Any:
    """Return the largest element of each window."""
    return _pooled(data, spec, tir.min_value(data.dtype), te.max, Tag.POOL_MAX)


def avg_pool(data: Any, spec: PoolSpec, count_include_pad: bool) -> Any:
    """Return the mean of each window: of its elements in the data, or in the padding too."""
    total = _pooled(data, spec, 0, te.sum, Tag.POOL_SUM)
    count = counter(spec, dims(data), count_include_pad)

    def element(*at: Any) -> Any:
        elements = count(at).astype(data.dtype)
        return total(*at) / elements if data.dtype.startswith("float") else te.div(total(*at), elements)

    return te.compute(total.shape, element, name="pool_avg", tag=Tag.ELEMWISE)


def counter(spec: PoolSpec, shape: Sequence[Any], count_include_pad: bool) -> Callable[[Sequence[Any]], Any]:
    """Return the function that tells how many elements of the window of an output element count, 1 at least."""
    places = places_of(spec.layout)
    if _never_cut(spec, [shape[p] for p in places], count_include_pad):
        return lambda at: tir.const(prod(spec.kernel), "int32")

    def count(at: Sequence[Any]) -> Any:
        found: Any = 1
        for d, p in enumerate(places):
            low, high = (-spec.before[d], shape[p] + spec.after[d]) if count_include_pad else (0, shape[p])
            start = at[p] * spec.strides[d] - spec.before[d]
            found = found * _inside(start, spec.kernel[d], spec.dilation[d], low, high)
        return te.max(found, 1)

    return count


def _never_cut(spec: PoolSpec, extents: Sequence[Any], count_include_pad: bool) -> bool:
    """Return whether all elements of every window count."""
    for d, extent in enumerate(extents):
        reach = (spec.out[d] - 1) * spec.strides[d] + (spec.kernel[d] - 1) * spec.dilation[d] + 1 - spec.before[d]
        if not isinstance(reach, int) or not isinstance(extent, int):
            return False
        if reach > extent + (spec.after[d] if count_include_pad else 0) or (spec.before[d] and not count_include_pad):
            return False
    return True


def _inside(start: Any, kernel: int, dilation: int, low: Any, high: Any) -> Any:
    """Return how many of ``start, start + dilation, …`` lie in ``[low, high)``."""
    first = te.max(low - start + dilation - 1, 0) // dilation
    last = te.min((high - 1 - start) // dilation, kernel - 1)
    return last - first + 1


def global_pool(data: Any, name: str, kind: str) -> Any:
    """Return the mean or the largest element of each channel of each image; spatial extents become 1."""
    places, shape = places_of(name), dims(data)
    window = [te.reduce_axis((0, shape[p]), name=f"r{d}") for d, p in enumerate(places)]
    result = tuple(1 if p in places else extent for p, extent in enumerate(shape))

    def element(*at: Any) -> Any:
        read = list(at)
        for d, p in enumerate(places):
            read[p] = window[d].var
        return (te.max if kind == "max" else te.sum)(data(*read), axis=window)

    whole = te.compute(result, element, name=f"global_{kind}", tag=Tag.COMM_REDUCE)
    if kind == "max":
        return whole
    total = prod((shape[p] for p in places), start=1)
    count = tir.const(total, data.dtype) if isinstance(total, int) else total.astype(data.dtype)
    return te.compute(result, lambda *at: whole(*at) / count, name="global_mean", tag=Tag.ELEMWISE)


def adaptive_pool(data: Any, out: Sequence[int], name: str, kind: str) -> Any:
    """Return the mean or the largest element of as many windows as the result has elements.

    Window ``i`` of ``n`` reaches from ``floor(i * extent / n)`` to ``ceil((i + 1) * extent / n)``.
    """
    places, shape = places_of(name), dims(data)
    sizes = [shape[p] // n if shape[p] % n == 0 else shape[p] // n + 2 for p, n in zip(places, out, strict=True)]
    window = [
        te.reduce_axis((0, min(size, shape[p])), name=f"r{d}")
        for d, (size, p) in enumerate(zip(sizes, places, strict=True))
    ]
    result = list(shape)
    for p, n in zip(places, out, strict=True):
        result[p] = n

    def start(i: Any, d: int) -> Any:
        return i * shape[places[d]] // out[d]

    def end(i: Any, d: int) -> Any:
        return ((i + 1) * shape[places[d]] + out[d] - 1) // out[d]

    def element(*at: Any) -> Any:
        read, inside = list(at), []
        for d, p in enumerate(places):
            read[p] = start(at[p], d) + window[d].var
            if shape[p] % out[d]:
                inside.append(read[p] < end(at[p], d))
        value = data(*read)
        neutral = tir.min_value(data.dtype) if kind == "max" else tir.const(0, data.dtype)
        value = te.if_then_else(te.all(*inside), value, neutral) if inside else value
        return (te.max if kind == "max" else te.sum)(value, axis=window)

    whole = te.compute(tuple(result), element, name=f"adaptive_{kind}", tag=Tag.COMM_REDUCE)
    if kind == "max":
        return whole

    def mean(*at: Any) -> Any:
        count: Any = 1
        for d, p in enumerate(places):
            count = count * (end(at[p], d) - start(at[p], d))
        return whole(*at) / (tir.const(count, data.dtype) if isinstance(count, int) else count.astype(data.dtype))

    return te.compute(tuple(result), mean, name="adaptive_mean", tag=Tag.ELEMWISE)
