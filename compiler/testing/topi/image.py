"""Resizing and sampling of images in NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.ir.error import ArgumentError

__all__ = [
    "affine_grid_python",
    "crop_and_resize_python",
    "grid_sample_nchw_python",
    "grid_sample_python",
    "resize1d_python",
    "resize2d_python",
    "resize3d_python",
]

Array = np.ndarray
Ints = Sequence[int]


def resize1d_python(
    data: Array,
    scale: Sequence[float],
    layout: str = "NCW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> Array:
    """Return sequences resized.

    Parameters
    ----------
    layout : str
        ``NCW`` or ``NWC``.
    method : str
        ``nearest_neighbor``, ``linear`` or ``cubic``.
    coordinate_transformation_mode : str
        How places in the result are places in the image: ``align_corners``, ``half_pixel`` or ``asymmetric``.
    """
    return _resized(data, scale, layout, method, coordinate_transformation_mode)


def resize2d_python(
    data: Array,
    scale: Sequence[float],
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> Array:
    """Return images resized.

    Parameters
    ----------
    layout : str
        ``NCHW`` or ``NHWC``.
    method : str
        ``nearest_neighbor``, ``linear`` or ``cubic``.
    coordinate_transformation_mode : str
        How places in the result are places in the image: ``align_corners``, ``half_pixel`` or ``asymmetric``.
    """
    return _resized(data, scale, layout, method, coordinate_transformation_mode)


def resize3d_python(
    data: Array,
    scale: Sequence[float],
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "align_corners",
) -> Array:
    """Return volumes resized.

    Parameters
    ----------
    layout : str
        ``NCDHW`` or ``NDHWC``.
    method : str
        ``nearest_neighbor``, ``linear`` or ``cubic``.
    coordinate_transformation_mode : str
        How places in the result are places in the image: ``align_corners``, ``half_pixel`` or ``asymmetric``.
    """
    return _resized(data, scale, layout, method, coordinate_transformation_mode)


def affine_grid_python(data: Array, target_shape: Ints) -> Array:
    """Return where the pixels of images lie after affine transformations.

    Parameters
    ----------
    data : numpy.ndarray
        The transformations, ``(N, 2, 3)``.
    """
    ys, xs = np.meshgrid(np.linspace(-1, 1, target_shape[0]), np.linspace(-1, 1, target_shape[1]), indexing="ij")
    points = np.stack([xs.ravel(), ys.ravel(), np.ones(xs.size)]).astype(data.dtype)
    return np.asarray((data @ points).reshape(len(data), 2, *target_shape))


def grid_sample_nchw_python(data: Array, grid: Array, method: str = "bilinear") -> Array:
    """Return images sampled at places, under the older name of :func:`grid_sample_python`.

    Parameters
    ----------
    data : numpy.ndarray
        ``(N, C, H, W)``.
    grid : numpy.ndarray
        The places, ``(N, 2, height, width)``: columns and rows between -1 and 1.
    method : str
        ``bilinear`` or ``nearest``.
    """
    return grid_sample_python(data, grid, method)


def grid_sample_python(
    data: Array,
    grid: Array,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Array:
    """Return images sampled at places.

    Parameters
    ----------
    data : numpy.ndarray
        ``(N, C, H, W)``.
    grid : numpy.ndarray
        The places, ``(N, 2, height, width)``: columns and rows between -1 and 1.
    method : str
        ``bilinear`` or ``nearest``.
    layout : str
        ``NCHW``.
    padding_mode : str
        What lies outside: ``zeros``, ``border`` or ``reflection``.
    align_corners : bool
        Whether -1 and 1 are the centres of the outermost pixels, rather than their edges.

    Raises
    ------
    ArgumentError
        If the layout or the method is another one.
    """
    if layout != "NCHW" or method not in ("bilinear", "nearest"):
        raise ArgumentError(f"grid_sample_python: expected NCHW and bilinear or nearest, got {layout} and {method}")
    result = np.zeros((*data.shape[:2], *grid.shape[2:]), data.dtype)
    for n, i, j in np.ndindex(len(data), *grid.shape[2:]):
        place = [
            _source(float(grid[n, 1 - axis, i, j]), data.shape[2 + axis], padding_mode, align_corners)
            for axis in range(2)
        ]
        result[n, :, i, j] = _sampled(data[n], place, method)
    return result


def crop_and_resize_python(
    image: Array,
    boxes: Array,
    box_indices: Array,
    crop_size: Ints,
    layout: str,
    method: str = "bilinear",
    extrapolation_value: float = 0,
) -> Array:
    """Return parts of images, resized.

    Parameters
    ----------
    boxes : numpy.ndarray
        Top, left, bottom and right of each part, between 0 and 1.
    box_indices : numpy.ndarray
        The image that each part is of.
    layout : str
        ``NCHW`` or ``NHWC``.
    method : str
        ``bilinear`` or ``nearest_neighbor``.
    """
    images = image.transpose(0, 3, 1, 2) if layout == "NHWC" else image
    height, width = images.shape[2:]
    result = np.full((len(boxes), images.shape[1], *crop_size), extrapolation_value, image.dtype)
    for index, (box, number) in enumerate(zip(boxes, box_indices, strict=True)):
        rows = _crop(float(box[0]), float(box[2]), height, crop_size[0])
        columns = _crop(float(box[1]), float(box[3]), width, crop_size[1])
        for i, j in np.ndindex(*crop_size):
            if 0 <= rows[i] <= height - 1 and 0 <= columns[j] <= width - 1:
                sampling = "bilinear" if method == "bilinear" else "rounded"
                result[index, :, i, j] = _sampled(images[number], [rows[i], columns[j]], sampling)
    return result.transpose(0, 2, 3, 1) if layout == "NHWC" else result


def _resized(data: Array, scale: Sequence[float], layout: str, method: str, mode: str) -> Array:
    """Return an array resized along each of its spatial dimensions."""
    spatial = [axis for axis, letter in enumerate(layout) if letter not in "NC"]
    result = data.astype("float64")
    for axis, factor in zip(spatial, scale, strict=True):
        extent = data.shape[axis]
        size = round(extent * factor)
        result = np.moveaxis(np.tensordot(_weights(extent, size, method, mode), result, axes=(1, axis)), 0, axis)
    return result.astype(data.dtype)


def _weights(extent: int, size: int, method: str, mode: str) -> Array:
    """Return how much each element of a row counts in each element of the resized one, ``(size, extent)``."""
    weights = np.zeros((size, extent))
    for index in range(size):
        place = _place(index, extent, size, mode)
        if method == "nearest_neighbor":
            nearest = math.floor(place + 0.5) if mode == "align_corners" else math.floor(place)
            weights[index, min(max(nearest, 0), extent - 1)] += 1
            continue
        low = math.floor(place)
        part = place - low
        for offset, weight in _neighbours(part, method):
            weights[index, min(max(low + offset, 0), extent - 1)] += weight
    return weights


def _place(index: int, extent: int, size: int, mode: str) -> float:
    """Return where an element of a resized row lies in the row."""
    if mode == "align_corners":
        return index * (extent - 1) / (size - 1) if size > 1 else 0.0
    if mode == "half_pixel":
        return (index + 0.5) * extent / size - 0.5
    return index * extent / size


def _neighbours(part: float, method: str, alpha: float = -0.5) -> list[tuple[int, float]]:
    """Return the offsets of the neighbours of a place, and their weights, by how far it is behind the lower one."""
    if method == "linear":
        return [(0, 1 - part), (1, part)]
    squared, cubed = part**2, part**3
    return [
        (-1, alpha * (cubed - 2 * squared + part)),
        (0, (alpha + 2) * cubed - (alpha + 3) * squared + 1),
        (1, -(alpha + 2) * cubed + (2 * alpha + 3) * squared - alpha * part),
        (2, -alpha * cubed + alpha * squared),
    ]


def _source(value: float, extent: int, padding_mode: str, align_corners: bool) -> float:
    """Return the pixel that a place between -1 and 1 is."""
    place = (value + 1) * (extent - 1) / 2 if align_corners else ((value + 1) * extent - 1) / 2
    if padding_mode == "border":
        return min(max(place, 0), extent - 1)
    if padding_mode == "reflection":
        low, high = (0.0, extent - 1.0) if align_corners else (-0.5, extent - 0.5)
        span = high - low
        folded = abs(place - low) % (2 * span) if span else 0.0
        place = low + (folded if folded <= span else 2 * span - folded)
        return min(max(place, 0), extent - 1)
    return place


def _sampled(image: Array, place: Sequence[float], method: str) -> Array:
    """Return the pixel of ``(C, H, W)`` at a place; what lies outside is 0."""
    height, width = image.shape[1:]
    if method in ("nearest", "rounded"):
        row, column = (round(p) if method == "nearest" else math.floor(p + 0.5) for p in place)
        inside = 0 <= row < height and 0 <= column < width
        return image[:, row, column] if inside else np.zeros(len(image), image.dtype)
    top, left = math.floor(place[0]), math.floor(place[1])
    result = np.zeros(len(image))
    for row, of_row in ((top, 1 - (place[0] - top)), (top + 1, place[0] - top)):
        for column, of_column in ((left, 1 - (place[1] - left)), (left + 1, place[1] - left)):
            if 0 <= row < height and 0 <= column < width:
                result += image[:, row, column] * of_row * of_column
    return result


def _crop(first: float, last: float, extent: int, size: int) -> list[float]:
    """Return the rows, or the columns, of an image that a part of it is made of."""
    if size == 1:
        return [0.5 * (first + last) * (extent - 1)]
    step = (last - first) * (extent - 1) / (size - 1)
    return [first * (extent - 1) + index * step for index in range(size)]
