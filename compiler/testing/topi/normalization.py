"""Normalisations and softmax in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = [
    "batch_norm",
    "group_norm_python",
    "instance_norm_python",
    "l2_normalize_python",
    "layer_norm_python",
    "log_softmax_python",
    "lrn_python",
    "rms_norm_python",
    "softmax_python",
]

Array = np.ndarray
Ints = Sequence[int]


def softmax_python(a_np: Array, axis: int = 1) -> Array:
    """Return the softmax along an axis.

    Parameters
    ----------
    axis : int
        Whose elements add up to 1.
    """
    powers = np.exp(a_np - np.max(a_np, axis=axis, keepdims=True))
    return np.asarray(powers / np.sum(powers, axis=axis, keepdims=True))


def log_softmax_python(a_np: Array, axis: int = 1) -> Array:
    """Return the logarithm of the softmax along an axis.

    Parameters
    ----------
    axis : int
        Whose probabilities add up to 1.
    """
    shifted = a_np - np.max(a_np, axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True)))


def l2_normalize_python(a_np: Array, eps: float, axis: int | Ints | None = None) -> Array:
    """Return an array divided by its Euclidean length along axes.

    Parameters
    ----------
    axis : int | Ints | None
        All of them by default.
    """
    axes = tuple(axis) if isinstance(axis, Sequence) else axis
    length = np.sqrt(np.maximum(np.sum(np.square(a_np), axis=axes, keepdims=True), eps))
    return np.asarray(a_np / length)


def lrn_python(a_np: Array, size: int, axis: int, bias: float, alpha: float, beta: float) -> Array:
    """Return an array normalised by its neighbours along an axis.

    Parameters
    ----------
    size : int
        How many neighbours there are, the element itself included.
    alpha : float
        The sum of the squares is multiplied by it, and divided by the size.
    """
    radius = size // 2
    squares = np.moveaxis(np.square(a_np), axis, 0)
    sums = np.zeros_like(squares)
    for index in range(len(squares)):
        sums[index] = squares[max(0, index - radius) : index + radius + 1].sum(axis=0)
    return np.asarray(a_np / np.power(bias + alpha * np.moveaxis(sums, 0, axis) / size, beta))


def _normalized(data: Array, axes: Ints, epsilon: float) -> Array:
    """Return an array with mean 0 and variance 1 along axes."""
    mean, variance = data.mean(axis=tuple(axes), keepdims=True), data.var(axis=tuple(axes), keepdims=True)
    normed: Array = (data - mean) / np.sqrt(variance + epsilon)
    return normed


def layer_norm_python(data: Array, gamma: Array, beta: Array, axis: int | Ints, epsilon: float = 1e-5) -> Array:
    """Return an array with mean 0 and variance 1 along axes, scaled and shifted.

    Parameters
    ----------
    gamma : numpy.ndarray
        The scale, of the extents of the axes.
    """
    axes = tuple(a % data.ndim for a in ((axis,) if isinstance(axis, int) else axis))
    shape = [extent if a in axes else 1 for a, extent in enumerate(data.shape)]
    return np.asarray(_normalized(data, axes, epsilon) * gamma.reshape(shape) + beta.reshape(shape))


def rms_norm_python(data: Array, weight: Array, axis: int | Ints, epsilon: float = 1e-5) -> Array:
    """Return an array divided by its root mean square along axes, scaled.

    Parameters
    ----------
    weight : numpy.ndarray
        The scale, of the extents of the axes.
    """
    axes = tuple(a % data.ndim for a in ((axis,) if isinstance(axis, int) else axis))
    shape = [extent if a in axes else 1 for a, extent in enumerate(data.shape)]
    mean = np.mean(np.square(data.astype("float32")), axis=axes, keepdims=True)
    return np.asarray((data / np.sqrt(mean + epsilon) * weight.reshape(shape)).astype(data.dtype))


def group_norm_python(
    data: Array, gamma: Array, beta: Array, num_groups: int, channel_axis: int, axes: Ints, epsilon: float = 1e-5
) -> Array:
    """Return an array with mean 0 and variance 1 in each group of channels, scaled and shifted.

    Parameters
    ----------
    gamma : numpy.ndarray
        The scale of each channel.
    beta : numpy.ndarray
        The shift of each channel.
    """
    channels = data.shape[channel_axis]
    split = (*data.shape[:channel_axis], num_groups, channels // num_groups, *data.shape[channel_axis + 1 :])
    inner = [channel_axis + 1, *(a + 1 if a > channel_axis else a for a in axes)]
    normed = _normalized(data.reshape(split), inner, epsilon).reshape(data.shape)
    shape = [channels if a == channel_axis else 1 for a in range(data.ndim)]
    return np.asarray(normed * gamma.reshape(shape) + beta.reshape(shape))


def instance_norm_python(data: Array, gamma: Array, beta: Array, axis: int | Ints, epsilon: float = 1e-5) -> Array:
    """Return an array with mean 0 and variance 1 along axes, scaled and shifted for each channel.

    Parameters
    ----------
    gamma : numpy.ndarray
        The scale of each channel, the second axis.
    beta : numpy.ndarray
        The shift of each channel.
    """
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

    Parameters
    ----------
    gamma : numpy.ndarray
        The scale of each channel.
    beta : numpy.ndarray
        The shift of each channel.
    training : bool
        Use the mean and the variance of ``x``, and return them mixed with the moving ones.
    momentum : float
        The share of the new ones in that.
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
