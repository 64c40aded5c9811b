"""Windows over arrays: what convolutions and pooling of any number of dimensions share."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

__all__ = ["Padding", "around", "convolved", "dilated", "each", "transposed"]

Array = np.ndarray
Padding = str | int | Sequence[int]
"""``VALID``, ``SAME``, a number, one for each dimension, or all beginnings and then all ends."""


def each(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Return a number for each dimension."""
    return (int(value),) * rank if isinstance(value, (int, np.integer)) else tuple(int(v) for v in value)


def around(padding: Padding, extents: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """Return how many elements are added before and after each dimension.

    ``SAME`` adds as many as a window of ``extents`` needs at stride 1, whatever the strides.
    """
    rank = len(extents)
    if isinstance(padding, str):
        if padding.upper() == "VALID":
            return [(0, 0)] * rank
        return [((n - 1) // 2, n - 1 - (n - 1) // 2) for n in extents]
    numbers = each(padding, rank)
    if len(numbers) == 2 * rank:
        return list(zip(numbers[:rank], numbers[rank:], strict=True))
    return [(n, n) for n in numbers]


def dilated(array: Array, dilation: Sequence[int], first: int) -> Array:
    """Return an array with zeros between the elements of its dimensions from ``first`` on."""
    shape = list(array.shape)
    places: list[slice] = [slice(None)] * array.ndim
    for axis, step in enumerate(dilation, first):
        shape[axis] = max((array.shape[axis] - 1) * step + 1, 0)
        places[axis] = slice(None, None, step)
    result = np.zeros(shape, array.dtype)
    result[tuple(places)] = array
    return result


def convolved(
    data: Array,
    weight: Array,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int = 1,
) -> Array:
    """Return the convolution of ``(N, C, …)`` with ``(O, C / groups, …)``, as ``(N, O, …)`` of the data's type."""
    rank = data.ndim - 2
    padded = np.pad(data, [(0, 0), (0, 0), *padding])
    window = dilated(weight, dilation, 2)
    axes = tuple(range(2, 2 + rank))
    views = sliding_window_view(padded, window.shape[2:], axis=axes)
    views = views[(slice(None), slice(None), *(slice(None, None, s) for s in strides))]
    inputs, outputs = data.shape[1] // groups, weight.shape[0] // groups
    kind = np.float64 if np.issubdtype(data.dtype, np.floating) else data.dtype
    parts = []
    for group in range(groups):
        block = views[:, group * inputs : (group + 1) * inputs].astype(kind)
        kernel = window[group * outputs : (group + 1) * outputs].astype(kind)
        contracted = (1, *range(2 + rank, 2 + 2 * rank))
        product = np.tensordot(block, kernel, axes=(contracted, tuple(range(1, 2 + rank))))
        parts.append(np.moveaxis(product, -1, 1))
    return np.concatenate(parts, axis=1).astype(data.dtype)


def transposed(
    data: Array,
    weight: Array,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    output_padding: Sequence[int],
    groups: int = 1,
) -> Array:
    """Return the transposed convolution of ``(N, C, …)`` with ``(C, O / groups, …)``."""
    rank = data.ndim - 2
    widened = dilated(data, strides, 2)
    extents = weight.shape[2:]
    edges = [
        (n - 1 - low, n - 1 - high + more)
        for n, (low, high), more in zip(extents, padding, output_padding, strict=True)
    ]
    # what is cut off rather than added is a negative edge
    widened = np.pad(widened, [(0, 0), (0, 0), *((max(low, 0), max(high, 0)) for low, high in edges)])
    cut = tuple(slice(max(-low, 0), widened.shape[a] - max(-high, 0)) for a, (low, high) in enumerate(edges, 2))
    widened = widened[(slice(None), slice(None), *cut)]
    inputs = data.shape[1] // groups
    flipped = np.flip(weight, tuple(range(2, 2 + rank)))
    kernels = [flipped[g * inputs : (g + 1) * inputs].swapaxes(0, 1) for g in range(groups)]
    kernel = np.concatenate(kernels, axis=0)
    return convolved(widened, kernel, (1,) * rank, [(0, 0)] * rank, (1,) * rank, groups)


def output_extent(extent: int, window: int, low: int, high: int, stride: int, ceil: bool) -> int:
    """Return how many windows there are along a dimension."""
    steps = (extent + low + high - window) / stride
    return (math.ceil(steps) if ceil else math.floor(steps)) + 1
