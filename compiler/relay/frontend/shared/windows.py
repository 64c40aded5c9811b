"""The places of windows in an image: what windows hold, and images that windows are put back into."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Array, constant, dtype_of, ops
from compiler.relay.frontend.shared.tensors import bounded, pad, static_dims

_FEW = 16
"""Windows over one place whose elements are added up as they are gathered."""


def windows_along(extent: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> Array:
    """Return the places along one axis of an image, (windows, elements of one), within and without its padding."""
    count = (extent + before + after - (kernel - 1) * dilation - 1) // stride + 1
    bounded(max(count, 0), kernel)
    return np.arange(count)[:, None] * stride + np.arange(kernel) * dilation - before


def sum_of_windows(x: RelayExpr, extents: Sequence[int], windows: Sequence[Array]) -> RelayExpr:
    """Sum windows ``(batch, channels * elements of one, windows)`` where they overlap in an image.

    Each place of the image gathers what is put there, axis by axis: there is no race between windows.
    """
    batch, rows, count = static_dims(x, "the input")
    counts, kernel = zip(*(each.shape for each in windows), strict=True)
    channels, rank = rows // math.prod(kernel), len(windows)
    if math.prod(counts) != count:
        raise ConversionError(f"an image of {tuple(extents)} has {math.prod(counts)} blocks, the input {count}")
    bounded(batch, channels, *extents)
    split = ops.reshape(x, (batch, channels, *kernel, *counts))
    beside = ops.transpose(split, axes=[0, 1, *(2 + i + part for i in range(rank) for part in (0, rank))])
    summed = ops.reshape(beside, (batch, channels, *(each.size for each in windows)))
    for axis, (window, extent) in enumerate(zip(windows, extents, strict=True), start=2):
        padded = pad(summed, [(0, int(at == axis)) for at in range(2 + rank)])
        put = _put_at(window.T.ravel(), extent)
        if put.shape[1] <= _FEW:
            summed = reduce(ops.add, (ops.take(padded, constant(at, "int64"), axis=axis) for at in put.T))
        else:
            summed = ops.sum(ops.take(padded, constant(put, "int64"), axis=axis), axis=[axis + 1])
    return summed


def _put_at(places: Array, extent: int) -> Array:
    """Return which elements are put at each place; where that are less than elsewhere, the index past the end too."""
    order = np.argsort(places, kind="stable")
    order = order[(places[order] >= 0) & (places[order] < extent)]
    counts = np.bincount(places[order], minlength=extent)
    bounded(extent, most := int(counts.max(initial=0)))
    put = np.full((extent, max(most, 1)), places.size)
    put[places[order], np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)] = order
    return put


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
