"""Arrays: NumPy memory aligned for vector instructions, with TVM's interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.runtime.device import Device, cpu

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector register of any CPU."""


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """Return NumPy's type for a scalar data type.

    Raises
    ------
    DTypeError
        If no array can hold it.
    """
    name = dt.element(dtype)
    if dt.parse(dtype).code == "bfloat":
        import ml_dtypes  # NumPy has no bfloat16 of its own

        kind: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return kind
    try:
        return np.dtype(name)
    except TypeError:
        raise DTypeError(f"NDArray: no array holds elements of type {show(dtype)}") from None


def aligned_empty(shape: tuple[int, ...], dtype: str) -> npt.NDArray[Any]:
    """Return uninitialised memory that starts at a multiple of :data:`ALIGNMENT`."""
    element = numpy_dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * element.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.__array_interface__["data"][0] % ALIGNMENT
    return raw[start : start + size].view(element).reshape(shape)


class NDArray:
    """An array on a device.

    Attributes
    ----------
    shape : tuple of int
    dtype : str
    device : Device
    address : int
        Where the elements lie, in rows without gaps.
    """

    __slots__ = ("_memory", "address", "device", "dtype", "shape")

    def __init__(self, memory: npt.NDArray[Any], dtype: str, device: Device) -> None:
        self._memory = memory
        self.shape: tuple[int, ...] = memory.shape
        self.dtype = dtype
        self.device = device
        self.address: int = memory.__array_interface__["data"][0]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._memory.ndim

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._memory.nbytes

    def numpy(self) -> npt.NDArray[Any]:
        """Return the elements as a new NumPy array."""
        return np.array(self._memory)

    asnumpy = numpy

    def view(self) -> npt.NDArray[Any]:
        """Return the elements themselves, not a copy."""
        return self._memory

    def copyfrom(self, source: Any) -> NDArray:
        """Take the elements of ``source``, converted to this array's type.

        Raises
        ------
        ArgumentError
            If the shapes differ.
        """
        values = source.view() if isinstance(source, NDArray) else np.asarray(source)
        if values.shape != self.shape:
            raise ArgumentError(f"copyfrom: source must have shape {self.shape}, got {values.shape}")
        np.copyto(self._memory, values, casting="unsafe")
        return self

    def copyto(self, target: NDArray | Device) -> NDArray:
        """Copy the elements into another array, or into a new one on a device."""
        if isinstance(target, NDArray):
            return target.copyfrom(self)
        if isinstance(target, Device):
            return array(self, target)
        raise ArgumentError(f"copyto: target must be an NDArray or a Device, got {show(type(target).__name__)}")

    def __getitem__(self, key: Any) -> Any:
        return self.numpy()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._memory[key] = value.view() if isinstance(value, NDArray) else value

    def __len__(self) -> int:
        return len(self._memory)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._memory, dtype=dtype)

    def __repr__(self) -> str:
        return f"<tvm.nd.NDArray shape={self.shape}, {self.device}>\n{self._memory!r}"

    def __str__(self) -> str:
        return str(self._memory)


def empty(shape: int | Sequence[int], dtype: str = "float32", device: Device | None = None) -> NDArray:
    """Return an array whose elements are whatever the memory held.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : str
    device : Device, optional
        The CPU when left out.
    """
    dims = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if any(not isinstance(d, (int, np.integer)) and not hasattr(d, "__index__") for d in dims):
        raise ArgumentError(f"nd.empty: shape must be made of ints, got {show(shape)}")
    sizes = tuple(int(d) for d in dims)
    if any(d < 0 for d in sizes):
        raise ArgumentError(f"nd.empty: shape must not be negative, got {show(shape)}")
    place = (device or cpu()).require("nd.empty")
    return NDArray(aligned_empty(sizes, str(dtype)), dt.element(str(dtype)), place)


def array(arr: Any, device: Device | None = None) -> NDArray:
    """Return a new array with the elements of ``arr``.

    Parameters
    ----------
    arr : array_like or NDArray
    device : Device, optional
        The CPU when left out.
    """
    values = arr.view() if isinstance(arr, NDArray) else np.asarray(arr)
    return empty(values.shape, str(values.dtype), device).copyfrom(values)


def numpyasarray(values: npt.NDArray[Any]) -> NDArray:
    """Return an array that shares the memory of a C-contiguous NumPy array."""
    if not values.flags.c_contiguous:
        raise ArgumentError("numpyasarray: the array must be C-contiguous")
    return NDArray(values, str(values.dtype), cpu())
