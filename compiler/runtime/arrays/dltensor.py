"""DLTensors from C, as arrays over the same memory."""

from __future__ import annotations

import ctypes

import numpy as np

from compiler.ir import dtype as dt
from compiler.runtime.arrays.c_types import ArgTypeCode, TVMArray
from compiler.runtime.arrays.ndarray import NDArray, numpy_dtype
from compiler.runtime.device import cpu

_DTYPE_NAMES = ("int", "uint", "float", "handle", "bfloat")


def array_over(tensor: TVMArray) -> NDArray:
    """Return an array over the memory of C's: its elements are read and written in place."""
    lanes = f"x{tensor.lanes}" if tensor.lanes > 1 else ""
    name = "bool" if (tensor.code, tensor.bits) == (1, 1) else f"{_DTYPE_NAMES[tensor.code]}{tensor.bits}{lanes}"
    kind = numpy_dtype(name)
    shape = tuple(tensor.shape[d] for d in range(tensor.ndim))
    size = dt.storage_bytes(name)
    strides = tuple(tensor.strides[d] * size for d in range(tensor.ndim)) if tensor.strides else None
    steps = strides or [size * int(np.prod(shape[d + 1 :])) for d in range(len(shape))]
    reach = sum((n - 1) * step for n, step in zip(shape, steps, strict=True)) + size if all(shape) else 0
    if tensor.lanes > 1:
        shape, strides = (*shape, tensor.lanes), (*steps, kind.itemsize)
    memory = (ctypes.c_char * reach).from_address((tensor.data or 0) + tensor.byte_offset)
    return NDArray(np.ndarray(shape, kind, memoryview(memory), 0, strides), name, cpu())


def viewed_array(value: object) -> NDArray | None:
    """Return the array that an object of an extension class stands for; None for any other object.

    The class's ``_tvm_tcode`` is ``ArgTypeCode.DLTENSOR_HANDLE``, and ``_tvm_handle`` is the array's address.
    """
    if getattr(type(value), "_tvm_tcode", None) != ArgTypeCode.DLTENSOR_HANDLE:
        return None
    handle = value._tvm_handle  # type: ignore[attr-defined]  # what the code promises
    return array_over(TVMArray.from_address(handle) if isinstance(handle, int) else handle.contents)
