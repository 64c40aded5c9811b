"""Resizing one axis of a NumPy array."""

from __future__ import annotations

import numpy as np

from compiler.relay.operator import Array
from compiler.topi.nn.resize import AxisResize


def resized(x: Array, axis: AxisResize, extrapolation: float) -> Array:
    """Return an array with its last axis resized: a product with a matrix that has a row for each new element."""
    place = axis.coordinate(np.arange(axis.target, dtype="float64"))
    if axis.method == "nearest_neighbor":
        index = axis.nearest(place, np.floor, np.ceil).astype(int)
        result = x[..., np.clip(index, 0, axis.source - 1)]
    else:
        result = x @ _matrix(axis, place).astype(x.dtype)
    if axis.mode == "tf_crop_and_resize":
        outside = (place < 0) | (place > axis.source - 1)
        result = np.where(outside, x.dtype.type(extrapolation), result)
    return result


def _matrix(axis: AxisResize, place: Array) -> Array:
    base = np.floor(place)
    weights = np.stack(axis.weights(place - base, np.minimum, np.maximum))
    indices = base.astype(int) + axis.first_tap() + np.arange(len(weights))[:, None]
    if axis.exclude_outside:
        weights = np.where((indices >= 0) & (indices < axis.source), weights, 0)
    if axis.exclude_outside or axis.antialias:
        weights = weights / weights.sum(0)
    matrix = np.zeros((axis.source, axis.target))
    np.add.at(matrix, (np.clip(indices, 0, axis.source - 1), np.arange(axis.target)[None]), weights)
    return matrix
