"""The places of windows in an image: what windows hold, and images that windows are put back into."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Array, constant, dtype_of, ops
from compiler.relay.frontend.shared.tensors import bounded, pad, static_dims


def windows_along(extent: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> Array:
    """Return the places along one axis of an image, (windows, elements of one), within and without its padding."""
    count = (extent + before + after - (kernel - 1) * dilation - 1) // stride + 1
    bounded(max(count, 0), kernel)
    return np.arange(count)[:, None] * stride + np.arange(kernel) * dilation - before


def sum_of_windows(x: RelayExpr, extents: Sequence[int], windows: Sequence[Array]) -> RelayExpr:
    """Sum windows ``(batch, channels * elements of one, windows)`` where they overlap in an image.

    Each place of the image gathers what is put there: the sum is one kernel, with no race between windows.
    """
    batch, rows, count = static_dims(x, "the input")
    counts, kernel = zip(*(each.shape for each in windows), strict=True)
    channels, rank = rows // math.prod(kernel), len(windows)
    if math.prod(counts) != count:
        raise ConversionError(f"an image of {tuple(extents)} has {math.prod(counts)} blocks, the input {count}")
    bounded(batch, channels, *extents, *kernel)
    split = ops.reshape(x, (batch, channels, *kernel, *counts))
    beside = ops.transpose(split, axes=[0, 1, *(2 + i + part for i in range(rank) for part in (0, rank))])
    flat = ops.reshape(beside, (batch, channels, *(each.size for each in windows)))
    summed = pad(flat, [(0, 0), (0, 0), *[(0, 1)] * rank])
    for i in reversed(range(rank)):
        summed = ops.take(summed, constant(_put_at(windows[i].T.ravel(), extents[i]), "int64"), axis=2 + i)
    return ops.sum(summed, axis=[3 + 2 * i for i in range(rank)])


def _put_at(places: Array, extent: int) -> Array:
    """Return which elements are put at each place; where that are less than elsewhere, the index past the end too."""
    found = [np.flatnonzero(places == place) for place in range(extent)]
    most = max(1, *map(len, found))
    return np.stack([np.pad(each, (0, most - len(each)), constant_values=places.size) for each in found])


def places_in(axes: Sequence[Array], extents: Sequence[int]) -> Array:
    """Return the flat places of (windows, elements of one) in an image, -1 outside, of those along each axis."""
    bounded(*(a.size for a in axes))
    flat, inside = np.zeros((1, 1), np.int64), np.ones((1, 1), bool)
    for places, extent in zip(axes, extents, strict=True):
        flat = (flat[:, None, :, None] * extent + places[None, :, None, :]).reshape(
            flat.shape[0] * places.shape[0], flat.shape[1] * places.shape[1]
        )
        ok = (places >= 0) & (places < extent)
        inside = (inside[:, None, :, None] & ok[None, :, None, :]).reshape(flat.shape)
    return np.where(inside, flat, -1)


def unfold(x: RelayExpr, places: Array, fill: float) -> RelayExpr:
    """Return the elements of all windows, (N, C, windows, elements of one); ``fill`` stands outside of the image."""
    n, c, *extents = static_dims(x, "the input")
    flat = ops.reshape(x, (n, c, math.prod(extents)))
    taken = ops.take(flat, constant(np.maximum(places, 0)), axis=2)
    return taken if (places >= 0).all() else ops.where(constant(places >= 0), taken, fill)


def greatest(x: RelayExpr, places: Array, names: Array) -> tuple[RelayExpr, RelayExpr]:
    """Return the maxima of windows, (N, C, windows), and of the names of their elements those of the maxima."""
    dtype = dtype_of(x)
    taken = unfold(x, places, -math.inf if dtype.startswith("float") else float(np.iinfo(dtype).min))
    first = constant(np.arange(len(places)) * places.shape[1], "int64")
    best = ops.add(ops.cast(ops.argmax(taken, axis=[3]), "int64"), first)
    return ops.max(taken, axis=3), ops.take(constant(names.reshape(-1), "int64"), best, axis=0)
