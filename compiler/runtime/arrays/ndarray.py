"""``tvm.nd``: NumPy arrays aligned for vector instructions, with TVM's interface."""

from __future__ import annotations

import base64
import ctypes
import math
import threading
from collections.abc import Iterable, Sequence
from functools import lru_cache
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from compiler.ir import dtype as dt
from compiler.ir.deprecation import deprecated, renamed_parameter
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.extension import public_module
from compiler.ir.memory import ALIGNMENT
from compiler.ir.serialization.codecs import Fields, register_codec
from compiler.runtime.arrays.c_types import TVMArray, described_array
from compiler.runtime.device import Device, cpu
from compiler.runtime.numpy_types import ElementType, NumPyArray

__all__ = ["ArrayLike", "NDArray", "array", "empty", "from_dlpack", "numpyasarray"]

_ML_DTYPES = {"bfloat16": "bfloat16", "e4m3_float8": "float8_e4m3fn", "e5m2_float8": "float8_e5m2"}
_OF_ML_DTYPES = {theirs: ours for ours, theirs in _ML_DTYPES.items()}


def numpy_dtype(dtype: str) -> ElementType:
    """Return NumPy's type for a scalar data type."""
    name = dt.element(dtype)
    if name in _ML_DTYPES:
        import ml_dtypes  # NumPy has none of these

        kind: ElementType = np.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))
        return kind
    if dt.is_custom(name):  # a record of its bits, which nothing takes for a number
        return np.dtype([(name, f"u{dt.storage_bytes(name)}")])
    try:
        return np.dtype(name)
    except TypeError:
        raise DTypeError(f"NDArray: arrays cannot hold elements of type {show(dtype)}") from None


def name_to_numpy(values: Iterable[object]) -> None:
    """Let NumPy know the data types among some values, such as the attributes of a call, by their names.

    ``bfloat16`` it has once that is asked for.
    """
    for value in values:
        if isinstance(value, str) and value in _ML_DTYPES:
            numpy_dtype(value)


@lru_cache(maxsize=256)
def tvm_dtype(kind: ElementType) -> str:
    """Return the data type of the elements of a NumPy array, e.g. of ``ml_dtypes.float8_e5m2``."""
    if kind.names is not None and len(kind.names) == 1:
        return str(kind.names[0])
    name = str(kind)
    return _OF_ML_DTYPES.get(name, name)


def aligned_empty(shape: tuple[int, ...], dtype: str) -> NumPyArray:
    """Return uninitialised memory that starts at a multiple of :data:`~compiler.ir.memory.ALIGNMENT`."""
    element = numpy_dtype(dtype)
    shape = (*shape, dt.lanes(dtype)) if dt.lanes(dtype) > 1 else tuple(shape)
    size = math.prod(map(int, shape)) * element.itemsize
    memory, start, _ = _aligned_memory(size)
    return memory[start : start + size].view(element).reshape(shape)


def _aligned_memory(size: int) -> tuple[NumPyArray, int, int]:
    """Return memory, and the place and address in it at which ``size`` aligned bytes begin."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory.data))  # a quarter of the time of __array_interface__
    start = -address % ALIGNMENT
    return memory, start, address + start


class NDArray:
    """An array on a device; :func:`array` and :func:`empty` make one.

    Its memory holds the elements in rows without gaps; the lanes of vectors are one more dimension.
    """

    __slots__ = ("_memory", "address", "device", "dtype", "shape")

    def __init__(self, memory: NumPyArray, dtype: str, device: Device) -> None:
        self._memory = memory
        self.shape: tuple[int, ...] = memory.shape if dt.lanes(dtype) == 1 else memory.shape[:-1]
        self.dtype = dtype
        self.device = device
        self.address: int = memory.__array_interface__["data"][0]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def is_view(self) -> bool:
        """Whether somebody else frees the memory: never, it lives as long as an array that uses it."""
        return False

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._memory.nbytes

    def numpy(self) -> NumPyArray:
        """Return a new array with the elements.

        Of ``bfloat16``, which NumPy does not have, they are the bits as ``uint16``; ``numpy.asarray(x)`` has its
        numbers.
        """
        return np.array(self._memory.view(np.uint16) if dt.element(self.dtype) == "bfloat16" else self._memory)

    def asnumpy(self) -> NumPyArray:
        """Copy the elements, as releases before 0.8 spelled :meth:`numpy`."""
        deprecated("NDArray.asnumpy", "NDArray.numpy")
        return self.numpy()

    def same_as(self, other: object) -> bool:
        """Return whether another array is this very one."""
        return self is other

    def view(self) -> NumPyArray:
        """Return the elements themselves, not a copy."""
        return self._memory

    def _create_view(self, shape: Sequence[int]) -> NDArray:
        """Return an array of another shape that shares this one's memory."""
        sizes = tuple(int(extent) for extent in shape)
        if math.prod(sizes) != math.prod(self.shape):
            raise ArgumentError(f"_create_view: shape must have {math.prod(self.shape)} elements, got {sizes}")
        return NDArray(self._memory.reshape((*sizes, *self._memory.shape[len(self.shape) :])), self.dtype, self.device)

    def copyfrom(self, source_array: ArrayLike) -> NDArray:
        """Take the elements of another array of the same shape, converted to this array's type.

        As :meth:`numpy` gives them, the elements of NumPy's ``uint16`` are the bits of ``bfloat16``, and the lanes of
        vectors are one more dimension. Raises ArgumentError if the shapes differ, or one of the types is a custom one
        and the other another.
        """
        values = source_array.view() if isinstance(source_array, NDArray) else np.asarray(source_array)
        if values.shape != self._memory.shape:
            raise ArgumentError(f"copyfrom: source_array must have shape {self._memory.shape}, got {values.shape}")
        if values.dtype != self._memory.dtype and (dt.is_custom(self.dtype) or values.dtype.names is not None):
            raise ArgumentError(
                f"copyfrom: elements of {tvm_dtype(values.dtype)} must be cast to {self.dtype} in a program"
            )
        if dt.element(self.dtype) == "bfloat16" and values.dtype == np.uint16:
            values = values.view(self._memory.dtype)
        np.copyto(self._memory, values, casting="unsafe")
        return self

    def copyto(self, target: NDArray | Device, mem_scope: str | None = None) -> NDArray:
        """Copy the elements into another array, or into a new one on a device, in a memory as of :func:`empty`.

        Raises ArgumentError if ``target`` is neither, or its shape differs.
        """
        if isinstance(target, NDArray):
            return target.copyfrom(self)
        if isinstance(target, Device):
            return array(self, target, mem_scope)
        raise ArgumentError(f"copyto: target must be an NDArray or a Device, got {show(type(target).__name__)}")

    @property
    def _tvm_handle(self) -> ctypes._Pointer[TVMArray]:
        """The address of a description in C's layout, as extension classes pass it on."""
        return described_array(self.address, self.dtype, self.shape, self.device)

    def __dlpack__(self, *, stream: object = None) -> object:
        """Return a capsule through which other libraries see the same memory; the CPU has no streams."""
        return self._memory.__dlpack__(stream=None)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the kind and the number of the device."""
        return self.device.device_type, self.device.device_id

    to_dlpack = __dlpack__

    def __getitem__(self, key: _Index) -> Any:
        return np.array(self._memory)[key]

    def __setitem__(self, key: _Index, value: ArrayLike) -> None:
        self._memory[key] = value.view() if isinstance(value, NDArray) else value

    def __len__(self) -> int:
        return len(self._memory)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> NumPyArray:
        return np.array(self._memory, dtype=dtype)

    def __repr__(self) -> str:
        return f"<tvm.nd.NDArray shape={self.shape}, {self.device}>\n{self._memory!r}"

    def __str__(self) -> str:
        return str(self._memory)


ArrayLike: TypeAlias = NDArray | npt.ArrayLike
"""What an array can be made of: an array, or what NumPy makes one of."""
_Item: TypeAlias = int | slice | EllipsisType | NumPyArray | None
_Index: TypeAlias = _Item | tuple[_Item, ...]


@renamed_parameter("ctx", "device")
def empty(
    shape: int | Sequence[int], dtype: str = "float32", device: Device | None = None, mem_scope: str | None = None
) -> NDArray:
    """Return an array, on the CPU by default, whose elements are whatever the memory held.

    Raises ArgumentError if an extent is not an int or negative, the device has no runtime, or its memory is another
    than ``global``. Raises DTypeError if no array holds elements of that type.
    """
    dims = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if any(not isinstance(d, (int, np.integer)) and not hasattr(d, "__index__") for d in dims):
        raise ArgumentError(f"nd.empty: shape must be made of ints, got {show(shape)}")
    sizes = tuple(int(d) for d in dims)
    if any(d < 0 for d in sizes):
        raise ArgumentError(f"nd.empty: shape must not be negative, got {show(shape)}")
    if mem_scope not in (None, "", "global"):
        raise ArgumentError(
            f"nd.empty: mem_scope must be 'global', the memory that devices have here, got {mem_scope!r}"
        )
    place = (device or cpu()).require("nd.empty")
    elsewhere = place.remote_array(sizes, str(dtype))
    return NDArray(aligned_empty(sizes, str(dtype)), str(dtype), place) if elsewhere is None else elsewhere


_PIECE, _SLAB = 1 << 10, 1 << 15
"""Bytes: small arrays are cut out of a slab of memory, which is free when none of them is used any more."""


class _Slab(threading.local):
    """The memory that this thread's next small array is cut out of."""

    memory: NumPyArray = np.empty(0, np.uint8)
    address, used = 0, 0

    def cut(self, size: int) -> tuple[NumPyArray, int, int]:
        """Return memory, and the place and address in it of aligned bytes that nobody else gets."""
        start = self.used
        if start + size > len(self.memory) - ALIGNMENT:
            self.memory = np.empty(_SLAB, np.uint8)
            address = self.memory.ctypes.data
            start = -address % ALIGNMENT
            self.address = address
        self.used = start + size
        return self.memory, start, self.address + start


_slab = _Slab()
_CPU = cpu()


class ArrayType:
    """Shape and data type of arrays that are made many times, worked out once."""

    __slots__ = ("_device", "_dtype", "_element", "_memory_shape", "_room", "_shape")

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        sample = aligned_empty(shape, dtype)
        self._shape, self._dtype, self._device = tuple(shape), dtype, cpu()
        self._memory_shape, self._element = sample.shape, sample.dtype
        self._room = -(-max(sample.nbytes, 1) // ALIGNMENT) * ALIGNMENT

    def empty(self) -> NDArray:
        """Return an array whose elements are yet to be written."""
        memory, start, address = _aligned_memory(self._room) if self._room > _PIECE else _slab.cut(self._room)
        made = NDArray.__new__(NDArray)
        made._memory = np.ndarray(self._memory_shape, self._element, memory, start)
        made.shape, made.dtype, made.device, made.address = self._shape, self._dtype, self._device, address
        return made


def copied(values: NumPyArray) -> NDArray:
    """Return a new array with the elements of one of scalars, as :func:`array` does, in less time."""
    room = -(-max(values.nbytes, 1) // ALIGNMENT) * ALIGNMENT
    memory, start, address = _aligned_memory(room) if room > _PIECE else _slab.cut(room)
    made = NDArray.__new__(NDArray)
    made._memory = np.ndarray(values.shape, values.dtype, memory, start)
    made._memory[...] = values
    made.shape, made.dtype, made.device, made.address = values.shape, tvm_dtype(values.dtype), _CPU, address
    return made


@renamed_parameter("ctx", "device")
def array(arr: ArrayLike, device: Device | None = None, mem_scope: str | None = None) -> NDArray:
    """Return a new array, on the CPU by default, with the elements, shape and type of ``arr``."""
    values = arr.view() if isinstance(arr, NDArray) else np.asarray(arr)
    return empty(values.shape, tvm_dtype(values.dtype), device, mem_scope).copyfrom(values)


def numpyasarray(values: NumPyArray) -> NDArray:
    """Return an array that shares the memory of a NumPy array.

    Raises ArgumentError if the elements are not contiguous.
    """
    if not values.flags.c_contiguous:
        raise ArgumentError("numpyasarray: the array must be C-contiguous")
    return NDArray(values, tvm_dtype(values.dtype), cpu())


def from_dlpack(dltensor: object) -> NDArray:
    """Return an array that shares the memory of another library's tensor on the CPU.

    ``dltensor`` has ``__dlpack__``, or is the capsule that this method returns. Functions may write into it unless it
    says that it is read-only.  Raises ArgumentError if it is neither, or its elements are not contiguous.
    """
    source = dltensor if hasattr(dltensor, "__dlpack__") else _Capsule(dltensor)
    try:
        memory: NumPyArray = np.from_dlpack(source)
        return numpyasarray(memory if memory.flags.writeable or _is_read_only(source) else _writable(memory))
    except (BufferError, TypeError, ValueError, RuntimeError, AttributeError) as exc:
        raise ArgumentError(f"from_dlpack: expected a tensor with __dlpack__, got {show(dltensor)}: {exc}") from None


def _is_read_only(source: Any) -> bool:
    """Return whether a tensor says that it is read-only; capsules without a version cannot say so."""
    try:
        return "versioned" in repr(source.__dlpack__())
    except BufferError:  # NumPy does not give read-only arrays in such
        return True


def _writable(memory: NumPyArray) -> NumPyArray:
    """Return a writable array of the same memory, if that is contiguous."""
    if not memory.size or not memory.flags.c_contiguous:
        return memory
    elements: Any = (ctypes.c_byte * memory.nbytes).from_address(memory.ctypes.data)
    elements.owner = memory  # keeps it
    return np.frombuffer(elements, memory.dtype).reshape(memory.shape)


class _Capsule:
    """Gives NumPy a capsule that somebody else asked for."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: object) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return cpu().device_type, 0


def _written(arr: NDArray) -> dict[str, object]:
    """Return what an array is made of; see :mod:`compiler.ir.serialization.codecs`."""
    return {"shape": list(arr.shape), "dtype": arr.dtype, "data": base64.b64encode(arr.view().tobytes()).decode()}


def _read(fields: Fields) -> NDArray:
    made = empty(fields["shape"], fields["dtype"])
    content = base64.b64decode(fields["data"], validate=True)
    if len(content) != made.nbytes:
        raise ArgumentError(f"NDArray: {made.nbytes} bytes are needed for the shape {made.shape}, got {len(content)}")
    return made.copyfrom(np.frombuffer(content, made.view().dtype).reshape(made.view().shape))


register_codec(NDArray, "runtime.NDArray", _written, _read)

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.nd", __all__)
