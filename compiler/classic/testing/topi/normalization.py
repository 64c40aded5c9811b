"""Normalisations in NumPy over axes that the caller chooses, as no operator does, and while training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = [
    "batch_norm", "group_norm_python", "instance_norm_python", "layer_norm_python", "rms_norm_python",
]  # fmt: skip

Array = np.ndarray
Ints = Sequence[int]


def _normalized(data: Array, axes: Ints, epsilon: float) -> Array:
    """Return an array with mean 0 and variance 1 along axes."""
    mean, variance = data.mean(axis=tuple(axes), keepdims=True), data.var(axis=tuple(axes), keepdims=True)
    normed: Array = (data - mean) / np.sqrt(variance + epsilon)
    return normed


def layer_norm_python(data: Array, gamma: Array, beta: Array, axis: int | Ints, epsilon: float = 1e-5) -> Array:
    """Return an array with mean 0 and variance 1 along axes, scaled and shifted by arrays of their extents."""
    axes = tuple(a % data.ndim for a in ((axis,) if isinstance(axis, int) else axis))
    shape = [extent if a in axes else 1 for a, extent in enumerate(data.shape)]
    return np.asarray(_normalized(data, axes, epsilon) * gamma.reshape(shape) + beta.reshape(shape))


def rms_norm_python(data: Array, weight: Array, axis: int | Ints, epsilon: float = 1e-5) -> Array:
    """Return an array divided by its root mean square along axes, scaled by an array of their extents."""
    axes = tuple(a % data.ndim for a in ((axis,) if isinstance(axis, int) else axis))
    shape = [extent if a in axes else 1 for a, extent in enumerate(data.shape)]
    mean = np.mean(np.square(data.astype("float32")), axis=axes, keepdims=True)
    return np.asarray((data / np.sqrt(mean + epsilon) * weight.reshape(shape)).astype(data.dtype))


def group_norm_python(
    data: Array, gamma: Array, beta: Array, num_groups: int, channel_axis: int, axes: Ints, epsilon: float = 1e-5
) -> Array:
    """Return an array with mean 0 and variance 1 in each group of channels, scaled and shifted channel by channel."""
    channels = data.shape[channel_axis]
    split = (*data.shape[:channel_axis], num_groups, channels // num_groups, *data.shape[channel_axis + 1 :])
    inner = [channel_axis + 1, *(a + 1 if a > channel_axis else a for a in axes)]
    normed = _normalized(data.reshape(split), inner, epsilon).reshape(data.shape)
    shape = [channels if a == channel_axis else 1 for a in range(data.ndim)]
    return np.asarray(normed * gamma.reshape(shape) + beta.reshape(shape))


def instance_norm_python(data: Array, gamma: Array, beta: Array, axis: int | Ints, epsilon: float = 1e-5) -> Array:
    """Return an array with mean 0 and variance 1 along axes, scaled and shifted for each channel, the second axis."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shape = [extent if a == 1 else 1 for a, extent in enumerate(data.shape)]
    return np.asarray(_normalized(data, axes, epsilon) * gamma.reshape(shape) + beta.reshape(shape))


def batch_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Array,
    moving_var: Array,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    training: bool,
    momentum: float,
) -> list[Array]:
    """Return the normalisation of each channel, and its mean and variance.

    While ``training`` those of ``x`` are used, and returned mixed with the moving ones, with the share ``momentum``.
    """
    shape = [extent if a == axis else 1 for a, extent in enumerate(x.shape)]
    others = tuple(a for a in range(x.ndim) if a != axis)
    mean, variance = moving_mean, moving_var
    if training:
        mean, variance = x.mean(axis=others), x.var(axis=others)
    result = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + epsilon)
    if scale:
        result = result * gamma.reshape(shape)
    if center:
        result = result + beta.reshape(shape)
    if not training:
        return [result, moving_mean, moving_var]
    mixed = [(1 - momentum) * old + momentum * new for old, new in ((moving_mean, mean), (moving_var, variance))]
    return [result, *mixed]
