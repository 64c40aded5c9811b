"""Pooling of regions, and convolutions at places that are given, in NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from compiler.testing.topi.convolution import conv2d_nchw_python
from compiler.testing.topi.windows import each

__all__ = [
    "correlation_nchw_python",
    "deformable_conv2d_nchw_python",
    "deformable_conv2d_nhwc_python",
    "roi_align_nchw_python",
    "roi_align_nhwc_python",
    "roi_pool_nchw_python",
]

Array = np.ndarray
Numbers = int | Sequence[int]


def roi_align_nchw_python(
    a_np: Array,
    rois_np: Array,
    pooled_size: Numbers,
    spatial_scale: float,
    sample_ratio: int,
    mode: bytes | str = b"avg",
) -> Array:
    """Return regions of images as images of one size, interpolated.

    Parameters
    ----------
    a_np : numpy.ndarray
        Images, ``(N, C, H, W)``.
    rois_np : numpy.ndarray
        Regions: the image, left, top, right and bottom of each.
    spatial_scale : float
        By which the edges of regions are multiplied.
    sample_ratio : int
        Samples along each dimension of a window; as many as it has pixels where not positive.
    mode : bytes or str
        ``avg`` or ``max``, as bytes or str.
    """
    sizes = each(pooled_size, 2)
    greatest = mode in (b"max", "max", 1)
    result = np.zeros((len(rois_np), a_np.shape[1], *sizes), a_np.dtype)
    for index, roi in enumerate(rois_np):
        image = a_np[int(roi[0])]
        left, top, right, bottom = (float(edge) * spatial_scale for edge in roi[1:])
        steps = (max(bottom - top, 1.0) / sizes[0], max(right - left, 1.0) / sizes[1])
        counts = [sample_ratio if sample_ratio > 0 else math.ceil(step) for step in steps]
        for y, x in np.ndindex(*sizes):
            samples = [
                _interpolated(
                    image, top + steps[0] * (y + (i + 0.5) / counts[0]), left + steps[1] * (x + (j + 0.5) / counts[1])
                )
                for i, j in np.ndindex(*counts)
            ]
            result[index, :, y, x] = np.max(samples, axis=0) if greatest else np.mean(samples, axis=0)
    return result


def roi_align_nhwc_python(
    a_np: Array,
    rois_np: Array,
    pooled_size: Numbers,
    spatial_scale: float,
    sample_ratio: int,
    mode: bytes | str = b"avg",
) -> Array:
    """Return regions of images as images of one size, interpolated.

    Parameters
    ----------
    a_np : numpy.ndarray
        Images, ``(N, H, W, C)``.
    rois_np : numpy.ndarray
        Regions: the image, left, top, right and bottom of each.
    spatial_scale : float
        By which the edges of regions are multiplied.
    sample_ratio : int
        Samples along each dimension of a window; as many as it has pixels where not positive.
    mode : bytes or str
        ``avg`` or ``max``, as bytes or str.
    """
    data = a_np.transpose(0, 3, 1, 2)
    result = roi_align_nchw_python(data, rois_np, pooled_size, spatial_scale, sample_ratio, mode)
    return result.transpose(0, 2, 3, 1)


def roi_pool_nchw_python(a_np: Array, rois_np: Array, pooled_size: Numbers, spatial_scale: float) -> Array:
    """Return the greatest elements of windows of regions of images.

    Parameters
    ----------
    a_np : numpy.ndarray
        Images, ``(N, C, H, W)``.
    rois_np : numpy.ndarray
        Regions: the image, left, top, right and bottom of each.
    spatial_scale : float
        By which the edges of regions are multiplied.
    """
    sizes = each(pooled_size, 2)
    height, width = a_np.shape[2:]
    result = np.zeros((len(rois_np), a_np.shape[1], *sizes), a_np.dtype)
    for index, roi in enumerate(rois_np):
        left, top, right, bottom = (math.floor(float(edge) * spatial_scale + 0.5) for edge in roi[1:])
        steps = (max(bottom - top + 1, 1) / sizes[0], max(right - left + 1, 1) / sizes[1])
        for y, x in np.ndindex(*sizes):
            rows = _window(y, steps[0], top, height)
            columns = _window(x, steps[1], left, width)
            part = a_np[int(roi[0])][:, rows, columns]
            result[index, :, y, x] = part.max(axis=(1, 2)) if part.size else 0
    return result


def deformable_conv2d_nchw_python(
    a_np: Array,
    offset_np: Array,
    w_np: Array,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    deformable_groups: int,
    groups: int,
) -> Array:
    """Return a convolution whose window has a place of its own for each element.

    Parameters
    ----------
    a_np : numpy.ndarray
        The data, ``(N, C, H, W)``.
    offset_np : numpy.ndarray
        Rows and columns that are added to the places, ``(N, 2 * groups of them * window, height, width)``.
    w_np : numpy.ndarray
        The weight, ``(O, C / groups, H, W)``.
    dilation : int or sequence of int
        Distance of neighbouring elements of the window.
    deformable_groups : int
        How many groups of channels have places of their own.
    groups : int
        How many groups of channels are convolved apart.
    """
    (down, right), (top, left), (between_rows, between_columns) = (
        each(stride, 2),
        each(padding, 2)[:2],
        each(dilation, 2),
    )
    batch, channels = a_np.shape[:2]
    rows, columns = w_np.shape[2:]
    height, width = offset_np.shape[2:]
    share = channels // deformable_groups
    # each window is laid out as a block of pixels of its own, over which an ordinary convolution steps
    spread = np.zeros((batch, channels, height * rows, width * columns), a_np.dtype)
    for n, y, x, i, j, group in np.ndindex(batch, height, width, rows, columns, deformable_groups):
        place = 2 * (group * rows * columns + i * columns + j)
        row = y * down - top + i * between_rows + float(offset_np[n, place, y, x])
        column = x * right - left + j * between_columns + float(offset_np[n, place + 1, y, x])
        part = slice(group * share, (group + 1) * share)
        spread[n, part, y * rows + i, x * columns + j] = _interpolated(a_np[n, part], row, column, outside=False)
    return conv2d_nchw_python(spread, w_np, (rows, columns), 0, groups)


def deformable_conv2d_nhwc_python(
    a_np: Array,
    offset_np: Array,
    w_np: Array,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    deformable_groups: int,
    groups: int,
) -> Array:
    """Return a convolution whose window has a place of its own for each element.

    Parameters
    ----------
    a_np : numpy.ndarray
        The data, ``(N, H, W, C)``.
    offset_np : numpy.ndarray
        Rows and columns that are added to the places, its channels last.
    w_np : numpy.ndarray
        The weight, ``(H, W, C / groups, O)``.
    dilation : int or sequence of int
        Distance of neighbouring elements of the window.
    deformable_groups : int
        How many groups of channels have places of their own.
    groups : int
        How many groups of channels are convolved apart.
    """
    result = deformable_conv2d_nchw_python(
        a_np.transpose(0, 3, 1, 2),
        offset_np.transpose(0, 3, 1, 2),
        w_np.transpose(3, 2, 0, 1),
        stride,
        padding,
        dilation,
        deformable_groups,
        groups,
    )
    return result.transpose(0, 2, 3, 1)


def correlation_nchw_python(
    data1: Array,
    data2: Array,
    kernel_size: int,
    max_displacement: int,
    stride1: int,
    stride2: int,
    padding: int,
    is_multiply: bool,
) -> Array:
    """Return how windows of one image go with those around their places in another.

    Parameters
    ----------
    data1 : numpy.ndarray
        ``(N, C, H, W)``.
    data2 : numpy.ndarray
        Of the same shape.
    max_displacement : int
        How far apart their places are at most.
    stride2 : int
        Steps around them in the second one.
    is_multiply : bool
        Add up products, rather than absolute differences.
    """
    edges = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    first, second = np.pad(data1, edges), np.pad(data2, edges)
    radius = (kernel_size - 1) // 2
    border = max_displacement + radius
    height, width = (math.ceil((n - 2 * border) / stride1) for n in first.shape[2:])
    steps = max_displacement // stride2
    offsets = [(i * stride2, j * stride2) for i in range(-steps, steps + 1) for j in range(-steps, steps + 1)]
    result = np.zeros((len(data1), len(offsets), height, width), data1.dtype)
    count = kernel_size**2 * data1.shape[1]
    for (channel, (down, right)), y, x in itertools.product(enumerate(offsets), range(height), range(width)):
        row, column = y * stride1 + max_displacement, x * stride1 + max_displacement
        here = first[:, :, row : row + kernel_size, column : column + kernel_size]
        there = second[:, :, row + down : row + down + kernel_size, column + right : column + right + kernel_size]
        values = here * there if is_multiply else np.abs(here - there)
        result[:, channel, y, x] = values.sum(axis=(1, 2, 3)) / count
    return result


def _interpolated(image: Array, row: float, column: float, outside: bool = True) -> Array:
    """Return the pixel of ``(C, H, W)`` at a place; with ``outside`` that of the edge up to one pixel beyond it."""
    height, width = image.shape[1:]
    low = -1 if outside else 0
    if not (low <= row <= height and low <= column <= width):
        return np.zeros(len(image), image.dtype)
    if outside:
        row, column = min(max(row, 0), height - 1), min(max(column, 0), width - 1)
    top, left = math.floor(row), math.floor(column)
    result = np.zeros(len(image))
    for y, of_row in ((top, 1 - (row - top)), (top + 1, row - top)):
        for x, of_column in ((left, 1 - (column - left)), (left + 1, column - left)):
            if 0 <= y < height and 0 <= x < width:
                result += image[:, y, x] * of_row * of_column
    return result


def _window(index: int, step: float, first: int, extent: int) -> slice:
    """Return the rows, or the columns, of a window of a region."""
    low, high = math.floor(index * step) + first, math.ceil((index + 1) * step) + first
    return slice(min(max(low, 0), extent), min(max(high, 0), extent))
