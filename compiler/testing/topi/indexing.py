"""Selecting, moving and setting elements in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

__all__ = [
    "gather_nd_python",
    "gather_python",
    "matrix_set_diag",
    "one_hot",
    "searchsorted_ref",
    "sequence_mask",
    "slice_axis_python",
    "strided_set_python",
    "strided_slice_python",
]

Array = np.ndarray
Ints = Sequence[int]
Strides = Sequence[int] | None


def gather_python(data: Array, axis: int, indices: Array) -> Array:
    """Return the elements at indices along an axis."""
    return np.take_along_axis(data, indices.astype("int64"), axis)


def gather_nd_python(a_np: Array, indices_np: Array) -> Array:
    """Return the elements, or slices, at tuples of indices.

    Parameters
    ----------
    indices_np : numpy.ndarray
        ``(tuple, …)``: its first axis is the tuple.
    """
    return np.asarray(a_np[tuple(indices_np.astype("int64"))])


def one_hot(indices: Array, on_value: float, off_value: float, depth: int, axis: int, dtype: str) -> Array:
    """Return vectors with one value at an index, and another one elsewhere.

    Parameters
    ----------
    axis : int
        Where the vectors lie; -1 is last.
    """
    result = np.where(np.asarray(indices)[..., None] == np.arange(depth), on_value, off_value).astype(dtype)
    return np.moveaxis(result, -1, axis)


def sequence_mask(data: Array, valid_length: Array, mask_value: float, axis: int) -> Array:
    """Return sequences whose elements behind a length are a value.

    Parameters
    ----------
    valid_length : numpy.ndarray
        The length of each sequence, ``(batch,)``.
    axis : int
        That of the elements, 0 or 1; the other one is the batch.
    """
    result = np.moveaxis(data.copy(), axis, 0)
    for sequence, length in enumerate(valid_length.astype("int64")):
        result[length:, sequence] = mask_value
    return np.moveaxis(result, 0, axis)


def slice_axis_python(data: Array, axis: int, begin: int, end: int | None = None) -> Array:
    """Return a part of an array along one axis.

    Parameters
    ----------
    end : int, optional
        The end by default.
    """
    places = [slice(None)] * data.ndim
    places[axis] = slice(begin, end)
    return data[tuple(places)]


def strided_slice_python(
    data: Array, begin: Ints, end: Ints, strides: Strides, slice_mode: str = "end", axes: Ints | None = None
) -> Array:
    """Return a part of an array with steps.

    Parameters
    ----------
    slice_mode : str
        Whether ``end`` is ``end``, or the ``size`` of the part, where -1 is the rest; steps are 1 then.
    axes : sequence of int, optional
        Those that the numbers are for; the first ones by default.
    """
    return data[_places(data.shape, begin, end, strides, slice_mode, axes)]


def strided_set_python(data: Array, v: Array, begin: Ints, end: Ints, strides: Strides) -> Array:
    """Return an array with a part of it set."""
    result = data.copy()
    result[_places(data.shape, begin, end, strides, "end", None)] = v
    return result


def matrix_set_diag(input_np: Array, diagonal: Array, k: int | Ints = 0, align: str = "RIGHT_LEFT") -> Array:
    """Return matrices with diagonals set.

    Parameters
    ----------
    diagonal : numpy.ndarray
        The elements of one diagonal, or of each from the lowest one on, padded to one length.
    k : int or sequence of int
        The diagonal, or the lowest and the highest one: 0 is the main one, positive ones are above it.
    align : str
        On which side the elements of those above, and of those below, are put.
    """
    result = input_np.copy()
    low, high = (k, k) if isinstance(k, int) else (k[0], k[-1])
    rows, columns = input_np.shape[-2:]
    several = not isinstance(k, int) and low != high
    width = diagonal.shape[-1]
    for offset in range(low, high + 1):
        length = min(rows + min(offset, 0), columns - max(offset, 0))
        above, below = align.split("_")
        side = above if offset >= 0 else below
        first = width - length if side == "RIGHT" else 0
        values = diagonal[..., high - offset, :] if several else diagonal
        for i in range(length):
            result[..., i - min(offset, 0), i + max(offset, 0)] = values[..., first + i]
    return result


def searchsorted_ref(sorted_sequence: Array, values: Array, right: bool, out_dtype: str) -> Array:
    """Return where values would be put into sorted rows.

    Parameters
    ----------
    sorted_sequence : numpy.ndarray
        Rows, or one for all.
    right : bool
        Behind elements that are the same, rather than before them.
    """
    side: Literal["left", "right"] = "right" if right else "left"
    if sorted_sequence.ndim == 1:
        return np.searchsorted(sorted_sequence, values, side=side).astype(out_dtype)
    rows, queries = sorted_sequence.reshape(-1, sorted_sequence.shape[-1]), values.reshape(-1, values.shape[-1])
    places = [np.searchsorted(row, asked, side=side) for row, asked in zip(rows, queries, strict=True)]
    return np.stack(places).reshape(values.shape).astype(out_dtype)


def _places(
    shape: Ints, begin: Ints, end: Ints, strides: Ints | None, slice_mode: str, axes: Ints | None
) -> tuple[slice, ...]:
    """Return the slice of each dimension."""
    places = [slice(None)] * len(shape)
    numbers = [int(n) for n in begin]
    steps = [1] * len(numbers) if strides is None or len(strides) == 0 else [int(n) for n in strides]
    steps += steps[-1:] * (len(numbers) - len(steps))
    for position, axis in enumerate(axes if axes is not None else range(len(numbers))):
        first, step = numbers[position], steps[position]
        last = int(end[position]) if position < len(end) else None
        if slice_mode == "size":
            step = 1
            last = None if last is None or last < 0 else first + last
        elif step < 0 and last is not None and last < -shape[axis]:
            last = None
        places[axis] = slice(first, last, step)
    return tuple(places)
