"""The checked memory of the interpreter, which tracks initialisation and bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from compiler.ir import dtype as dt
from compiler.ir.error import BoundError, TVMError
from compiler.ir.expr.primexpr import wrap_int
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.device import cpu
from compiler.tir.expressions.evaluation import Array, ElementType, Value, numpy_dtype
from compiler.tir.statements.buffer import Buffer

Indices: TypeAlias = tuple[Value, ...]


class OutOfBounds(BoundError):
    """An element outside of its buffer was read or written."""


class UninitializedRead(TVMError):
    """An element of local memory was read before anything was written to it."""


@dataclass(slots=True)
class View:
    """Where the elements of a buffer lie: index ``i`` of a dimension is valid from ``low`` for ``extent`` values."""

    low: tuple[int, ...]
    extent: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0


def compact(extent: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of rows without gaps."""
    return tuple(math.prod(extent[i + 1 :]) for i in range(len(extent)))


def layout(shape: Sequence[int], strides: Sequence[int], offset: int) -> View:
    """Return the view of a buffer of that shape; without strides its rows have no gaps."""
    return View((0,) * len(shape), tuple(shape), tuple(strides) or compact(shape), offset)


def box(low: tuple[int, ...], extent: tuple[int, ...]) -> View:
    """Return the view of memory that holds just a box of a buffer."""
    return View(low, extent, compact(extent))


def new_memory(size: int, kind: ElementType) -> tuple[Array, bytearray]:
    """Return memory, and for each element that it was not written."""
    size = max(size, 0)
    return np.zeros(size, kind), bytearray(size)


def packed_array(
    data: Array, written: bytearray | None, shape: Sequence[int], strides: Sequence[int], offset: int, dtype: str
) -> NDArray:
    """Return memory as the array that a called function gets, which may write all of its elements."""
    view = layout(shape, strides, offset)
    reach = offset + sum((n - 1) * step for n, step in zip(view.extent, view.stride, strict=True)) + 1
    if all(shape) and not 0 <= offset < reach <= data.size:
        raise OutOfBounds(
            f"call_packed: elements {offset} to {reach - 1} are passed, but the memory has {data.size} elements"
        )
    if written is not None:
        written[:] = b"\1" * len(written)
    memory = as_strided(data[offset:], tuple(shape), tuple(step * data.itemsize for step in view.stride))
    return NDArray(memory, dtype, cpu())


@dataclass(slots=True)
class Access:
    """One place of the program that reads or writes elements of a buffer.

    The methods take the memory, what was written of it (None if all of it was), the view and the indices: the way
    that works for every layout, and that tells what is wrong.
    """

    buffer: Buffer
    index_dtypes: tuple[str, ...]
    text: str

    def read(self, data: Array, written: bytearray | None, view: View, indices: Indices) -> Value:
        """Return the element or elements."""
        data, written = self.typed(data, written)
        flat = self.place("read", data, view, indices)
        if written is not None:
            for i in flat.tolist() if isinstance(flat, np.ndarray) else (flat,):
                if not written[i]:
                    raise UninitializedRead(
                        f"read of {self.buffer.name}: nothing was written to element {i} of its memory ({self.text})"
                    )
        if isinstance(flat, int) and dt.is_integral(self.buffer.dtype):
            return data.item(flat)
        return data[flat]

    def write(self, data: Array, written: bytearray | None, view: View, indices: Indices, value: Value) -> None:
        """Set the element or elements."""
        data, written = self.typed(data, written)
        flat = self.place("write", data, view, indices)
        data[flat] = value
        if written is not None:
            for i in flat.tolist() if isinstance(flat, np.ndarray) else (flat,):
                written[i] = 1

    def read_where(self, data: Array, written: bytearray | None, view: View, indices: Indices, mask: Array) -> Value:
        """Return the elements of the lanes that a mask says; the others are 0."""
        result = np.zeros(len(mask), data.dtype)
        if mask.any():
            result[mask] = self.read(data, written, view, _lanes_where(indices, mask))
        return result

    def write_where(
        self, data: Array, written: bytearray | None, view: View, indices: Indices, mask: Array, value: Array
    ) -> None:
        """Set the elements of the lanes that a mask says."""
        if mask.any():
            self.write(data, written, view, _lanes_where(indices, mask), value[mask])

    def read_row(self, data: Array, written: bytearray | None, view: View, first: int, count: int) -> Value:
        """Return neighbouring elements of a vector in memory."""
        last = first + count
        if (
            first >= 0
            and last <= view.extent[0]
            and last <= data.size
            and (written is None or written.find(0, first, last) < 0)
        ):
            return data[first:last].copy()
        return self.read(data, written, view, (np.arange(first, last),))

    def write_row(
        self, data: Array, written: bytearray | None, view: View, first: int, count: int, value: Value
    ) -> None:
        """Set neighbouring elements of a vector in memory."""
        last = first + count
        if first >= 0 and last <= view.extent[0] and last <= data.size:
            data[first:last] = value
            if written is not None:
                written[first:last] = b"\1" * count
        else:
            self.write(data, written, view, (np.arange(first, last),), value)

    def typed(self, data: Array, written: bytearray | None) -> tuple[Array, bytearray | None]:
        """Look at the memory as elements of the buffer's type."""
        kind = numpy_dtype(self.buffer.dtype)
        if data.dtype == kind:
            return data, written
        return data.view(kind), written if data.dtype.itemsize == kind.itemsize else None

    def place(self, access: str, data: Array, view: View, indices: Indices) -> Value:
        flat: Value = view.offset
        wrapped = tuple(self._wrapped(i, dtype) for i, dtype in zip(indices, self.index_dtypes, strict=True))
        for index, low, extent, stride in zip(wrapped, view.low, view.extent, view.stride, strict=True):
            if isinstance(index, int):
                inside = low <= index < low + extent
            else:
                inside = bool(((index >= low) & (index < low + extent)).all())
            if not inside:
                raise self._outside(access, wrapped, view)
            flat = flat + (index - low) * stride
        lanes = dt.lanes(self.buffer.dtype)
        if lanes > 1:
            flat = np.add.outer(flat * lanes, np.arange(lanes)).reshape(-1)
        first, last = (flat, flat) if isinstance(flat, int) else (int(flat.min()), int(flat.max()))
        if first < 0 or last >= data.size:
            where = first if first < 0 else last
            raise OutOfBounds(
                f"{access} of {self.buffer.name}, element {where}, is outside of its memory of {data.size} elements"
            )
        return flat

    @staticmethod
    def _wrapped(index: Value, dtype: str) -> Value:
        return index.astype(np.int64) if isinstance(index, np.ndarray) else wrap_int(int(index), dtype)

    def _outside(self, access: str, indices: Indices, view: View) -> OutOfBounds:
        shown = ", ".join(str(i.tolist() if isinstance(i, np.ndarray) else i) for i in indices)
        limits = ", ".join(
            f"{low}:{low + extent}" if low else str(extent) for low, extent in zip(view.low, view.extent, strict=True)
        )
        return OutOfBounds(f"{access} of {self.buffer.name}[{shown}] is outside of its shape ({limits})")


def _lanes_where(indices: Indices, mask: Array) -> Indices:
    return tuple([np.broadcast_to(np.asarray(index), mask.shape)[mask] for index in indices])
