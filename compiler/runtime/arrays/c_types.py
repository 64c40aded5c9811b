"""``tvm._ffi.runtime_ctypes``: type codes and array structures of the C runtime.

Layout: DLPack, ``dlpack.h``; the numbers of kinds are TVM's.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum

from compiler.ir import dtype as dt
from compiler.runtime.arrays.data_type import DataType, DataTypeCode
from compiler.runtime.device import Device

__all__ = [
    "DTYPE_CODES", "ArgTypeCode", "DataType", "DataTypeCode", "Device", "TVMArray", "TVMArrayHandle",
    "described_array", "tvm_shape_index_t",
]  # fmt: skip

tvm_shape_index_t = ctypes.c_int64
"""An extent."""


DTYPE_CODES = {"int": 0, "uint": 1, "bool": 1, "float": 2, "handle": 3, "bfloat": 4}
"""The codes of data types in an array."""


class ArgTypeCode(IntEnum):
    """What the 64 bits of an argument are."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    NULL = 4
    TVM_TYPE = 5
    DLDEVICE = 6
    DLTENSOR_HANDLE = 7
    OBJECT_HANDLE = 8
    MODULE_HANDLE = 9
    PACKED_FUNC_HANDLE = 10
    STR = 11
    BYTES = 12
    NDARRAY_HANDLE = 13
    OBJECT_RVALUE_REF_ARG = 14
    BOOL = 15
    EXT_BEGIN = 16


class TVMArray(ctypes.Structure):
    """An array: DLPack's ``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(tvm_shape_index_t)),
        ("strides", ctypes.POINTER(tvm_shape_index_t)),
        ("byte_offset", ctypes.c_uint64),
    )


TVMArrayHandle = ctypes.POINTER(TVMArray)
"""The address of an array."""


def described_array(address: int, dtype: str, shape: tuple[int, ...], device: Device) -> ctypes._Pointer[TVMArray]:
    """Return the address of the description of an array whose elements lie one after the other."""
    parsed = dt.parse(dtype)
    extents = (tvm_shape_index_t * len(shape))(*shape)
    code = DTYPE_CODES[parsed.code]
    place = address, device.device_type, device.device_id
    return ctypes.pointer(TVMArray(*place, len(shape), code, parsed.bits, parsed.lanes, extents, None, 0))
