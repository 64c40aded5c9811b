"""Pooling and its gradient in NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.ir.error import ArgumentError
from compiler.testing.topi.windows import each, output_extent

__all__ = ["adaptive_pool", "pool_grad_nchw", "poolnd_python"]

Array = np.ndarray
Ints = Sequence[int]
Numbers = int | Sequence[int]


def poolnd_python(
    np_data: Array,
    kernel: Ints,
    strides: Ints,
    dilation: Ints,
    padding_before: Ints,
    padding_after: Ints,
    pool_type: str,
    count_include_pad: bool = True,
    ceil_mode: bool = False,
    dtype: str = "float32",
    layout: str | None = None,
) -> Array:
    """Return the greatest element, or the mean, of each window.

    Parameters
    ----------
    np_data : numpy.ndarray
        The data, its channels second unless ``layout`` says where.
    padding_before : sequence of int
        How far it goes beyond the beginnings.
    padding_after : sequence of int
        How far it goes beyond the ends.
    pool_type : str
        ``max`` or ``avg``.
    count_include_pad : bool
        Whether elements beyond the ends count in means.
    ceil_mode : bool
        Whether a last window may go beyond the end.
    layout : str, optional
        E.g. ``NHWC``; ``NCHW`` and the like by default.

    Raises
    ------
    ArgumentError
        If ``pool_type`` is neither.
    """
    axes = _channels_second(layout) if layout is not None else list(range(np_data.ndim))
    data = np_data.transpose(axes)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    extents = [
        output_extent(n, span, low, high, step, ceil_mode)
        for n, span, low, high, step in zip(data.shape[2:], spans, padding_before, padding_after, strides, strict=True)
    ]
    result = np.zeros((*data.shape[:2], *extents), dtype)
    for place in np.ndindex(*extents):
        starts = [p * step - low for p, step, low in zip(place, strides, padding_before, strict=True)]
        windows, count = _window(starts, kernel, dilation, data.shape[2:], padding_after)
        index: tuple[slice | Array, ...] = (slice(None), slice(None), *np.ix_(*windows))
        divisor = count if count_include_pad else math.prod(map(len, windows))
        result[(..., *place)] = _pooled(data[index], pool_type, divisor, dtype)
    return result.transpose(np.argsort(axes))


def _channels_second(layout: str) -> list[int]:
    """Return the axes of a layout in the order ``NCHW``."""
    return [layout.index(letter) for letter in ("N", "C", *(letter for letter in layout if letter not in "NC"))]


def _window(
    starts: Ints, kernel: Ints, dilation: Ints, extents: Ints, padding_after: Ints
) -> tuple[list[list[int]], int]:
    """Return the positions of a window inside the data by axis, and how many it has with those in the padding."""
    windows, count = [], 1
    for start, k, d, extent, high in zip(starts, kernel, dilation, extents, padding_after, strict=True):
        positions = [start + i * d for i in range(k)]
        windows.append([p for p in positions if 0 <= p < extent])
        count *= len([p for p in positions if p < extent + high])
    return windows, count


def _pooled(part: Array, pool_type: str, divisor: int, dtype: str) -> Array:
    inner = tuple(range(2, part.ndim))
    if pool_type == "max":
        return np.max(part, axis=inner) if part.size else np.full(part.shape[:2], np.finfo(dtype).min)
    if pool_type == "avg":
        mean: Array = part.sum(axis=inner) / max(divisor, 1)
        return mean
    raise ArgumentError(f"poolnd_python: pool_type must be 'max' or 'avg', got {pool_type!r}")


def pool_grad_nchw(
    a_np: Array,
    out_grad_np: Array,
    pool_size: Ints,
    strides: Ints,
    padding: Ints,
    pool_type: str,
    ceil_mode: bool,
    count_include_pad: bool = True,
) -> Array:
    """Return the gradient of pooling with respect to its data.

    Parameters
    ----------
    a_np : numpy.ndarray
        The data, ``(N, C, H, W)``.
    padding : sequence of int
        How far it goes beyond the top, the left, the bottom and the right.
    pool_type : str
        ``max`` or ``avg``.
    ceil_mode : bool
        Whether a last window may go beyond the end; ``out_grad_np`` says it.
    count_include_pad : bool
        Whether elements beyond the ends count in means.
    """
    top, left, bottom, right = padding
    height, width = a_np.shape[2:]
    result = np.zeros(a_np.shape, np.result_type(a_np.dtype, out_grad_np.dtype))
    for y, x in np.ndindex(*out_grad_np.shape[2:]):
        first_row, first_column = y * strides[0] - top, x * strides[1] - left
        rows = slice(max(first_row, 0), min(first_row + pool_size[0], height))
        columns = slice(max(first_column, 0), min(first_column + pool_size[1], width))
        grad = out_grad_np[:, :, y, x]
        part = a_np[:, :, rows, columns]
        if pool_type == "avg":
            whole = (min(first_row + pool_size[0], height + bottom) - first_row) * (
                min(first_column + pool_size[1], width + right) - first_column
            )
            divisor = whole if count_include_pad else max(part.shape[2] * part.shape[3], 1)
            result[:, :, rows, columns] += (grad / divisor)[:, :, None, None]
            continue
        flat = part.reshape(*part.shape[:2], -1)
        if not flat.size:  # the window sees padding alone
            continue
        chosen = flat.argmax(axis=2)
        for n, c in np.ndindex(*chosen.shape):
            row, column = divmod(int(chosen[n, c]), part.shape[3])
            result[n, c, rows.start + row, columns.start + column] += grad[n, c]
    return result


def adaptive_pool(np_data: Array, out_size: Numbers, pool_type: str, layout: str) -> Array:
    """Return the greatest elements, or the means, of as many windows as are asked for.

    Parameters
    ----------
    pool_type : str
        ``max`` or ``avg``.
    layout : str
        Of the data, e.g. ``NCHW`` or ``NHWC``.
    """
    axes = _channels_second(layout)
    data = np_data.transpose(axes)
    sizes = each(out_size, data.ndim - 2)
    result = np.zeros((*data.shape[:2], *sizes), data.dtype)
    inner = tuple(range(2, data.ndim))
    for place in np.ndindex(*sizes):
        windows = [
            slice(p * n // size, -(-(p + 1) * n // size))
            for p, n, size in zip(place, data.shape[2:], sizes, strict=True)
        ]
        part = data[(slice(None), slice(None), *windows)]
        result[(..., *place)] = part.max(axis=inner) if pool_type == "max" else part.mean(axis=inner)
    return result.transpose(np.argsort(axes))
