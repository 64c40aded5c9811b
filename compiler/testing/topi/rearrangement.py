"""Moving blocks of elements between axes in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = [
    "batch_to_space_nd_python",
    "depth_to_space_python",
    "dilate_python",
    "reorg_python",
    "space_to_batch_nd_python",
    "space_to_depth_python",
]

Array = np.ndarray
Ints = Sequence[int]


def depth_to_space_python(data: Array, block_size: int, mode: str = "DCR") -> Array:
    """Return images whose channels have become blocks of pixels.

    Parameters
    ----------
    data : numpy.ndarray
        ``(N, C, H, W)``.
    mode : str
        Whether the depth is the outer part of the channels, ``DCR``, or the inner one, ``CRD``.
    """
    batch, channels, height, width = data.shape
    depth = channels // block_size**2
    if mode == "DCR":
        parts = data.reshape(batch, block_size, block_size, depth, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = data.reshape(batch, depth, block_size, block_size, height, width).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(batch, depth, height * block_size, width * block_size)


def space_to_depth_python(data: Array, block_size: int) -> Array:
    """Return images whose blocks of pixels have become channels.

    Parameters
    ----------
    data : numpy.ndarray
        ``(N, C, H, W)``.
    """
    batch, channels, height, width = data.shape
    rows, columns = height // block_size, width // block_size
    parts = data.reshape(batch, channels, rows, block_size, columns, block_size).transpose(0, 3, 5, 1, 2, 4)
    return parts.reshape(batch, channels * block_size**2, rows, columns)


def space_to_batch_nd_python(
    data: Array, block_shape: Ints, pad_before: Ints, pad_after: Ints, pad_value: float = 0
) -> Array:
    """Return an array whose blocks have become elements of the batch.

    Parameters
    ----------
    data : numpy.ndarray
        The batch first, then the dimensions that are divided.
    pad_before : sequence of int
        Elements added before each dimension.
    pad_after : sequence of int
        Elements added after it.
    """
    count = len(block_shape)
    edges = [(0, 0), *zip(pad_before, pad_after, strict=True), *[(0, 0)] * (data.ndim - count - 1)]
    padded = np.pad(data, edges, constant_values=pad_value)
    shape = [padded.shape[0]]
    for extent, block in zip(padded.shape[1:], block_shape, strict=False):
        shape += [extent // block, block]
    rest = padded.shape[count + 1 :]
    inner = [2 * i + 2 for i in range(count)]
    outer = [2 * i + 1 for i in range(count)]
    parts = padded.reshape(*shape, *rest).transpose(*inner, 0, *outer, *range(2 * count + 1, 2 * count + 1 + len(rest)))
    return parts.reshape(-1, *(shape[i] for i in outer), *rest)


def batch_to_space_nd_python(data: Array, block_shape: Ints, crop_begin_list: Ints, crop_end_list: Ints) -> Array:
    """Return an array whose batch has become blocks of its other dimensions.

    Parameters
    ----------
    crop_begin_list : sequence of int
        Elements left out before each dimension.
    """
    count = len(block_shape)
    batch = data.shape[0] // int(np.prod(block_shape))
    parts = data.reshape(*block_shape, batch, *data.shape[1:])
    pairs = [axis for i in range(count) for axis in (count + 1 + i, i)]
    rest = range(2 * count + 1, parts.ndim)
    extents = [extent * block for extent, block in zip(data.shape[1:], block_shape, strict=False)]
    result = parts.transpose(count, *pairs, *rest).reshape(batch, *extents, *data.shape[count + 1 :])
    places = [
        slice(low, extent - high) for low, high, extent in zip(crop_begin_list, crop_end_list, extents, strict=True)
    ]
    return result[(slice(None), *places)]


def reorg_python(a_np: Array, stride: int) -> Array:
    """Return images whose pixels are gathered by their place in a block, as YOLO does.

    Parameters
    ----------
    a_np : numpy.ndarray
        ``(N, C, H, W)``.
    """
    batch, channels, height, width = a_np.shape
    inner = channels // stride**2
    parts = a_np.reshape(batch, inner, height, stride, width, stride)
    flat = parts.reshape(batch, inner, height * stride, width * stride)
    places = flat.reshape(batch, inner, height, stride, width, stride).transpose(0, 3, 5, 1, 2, 4)
    return places.reshape(batch, channels * stride**2, height // stride, width // stride)


def dilate_python(input_np: Array, strides: Ints, dilation_value: float = 0.0, out_dtype: str | None = None) -> Array:
    """Return an array with a value between its elements.

    Parameters
    ----------
    strides : sequence of int
        How far elements are apart afterwards, along each axis.
    out_dtype : str, optional
        That of the data by default.
    """
    shape = [(extent - 1) * step + 1 for extent, step in zip(input_np.shape, strides, strict=True)]
    result = np.full(shape, dilation_value, out_dtype or input_np.dtype)
    result[tuple(slice(None, None, step) for step in strides)] = input_np
    return result
