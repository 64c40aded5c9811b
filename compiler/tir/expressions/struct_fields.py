"""The structures that ``tvm_struct_get`` accesses: DLTensors and argument values."""

from __future__ import annotations

from enum import IntEnum

ARRAY_BYTES = 48
"""Of the structure of an array."""
VALUE_BYTES = 8
"""Of the value of an argument."""


class Field(IntEnum):
    """A field, by TVM's numbers."""

    ADDRESS = 0
    DATA = 1
    SHAPE = 2
    STRIDES = 3
    NDIM = 4
    TYPE_CODE = 5
    TYPE_BITS = 6
    TYPE_LANES = 7
    BYTE_OFFSET = 8
    DEVICE_ID = 9
    DEVICE_TYPE = 10
    VALUE = 12

    @property
    def offset(self) -> int:
        """The bytes before it in its structure."""
        return _OFFSETS[self]

    @property
    def structure_bytes(self) -> int:
        """The bytes of its structure, of which several may lie one after the other."""
        return VALUE_BYTES if self is Field.VALUE else ARRAY_BYTES


_OFFSETS = {
    Field.ADDRESS: 0,
    Field.DATA: 0,
    Field.DEVICE_TYPE: 8,
    Field.DEVICE_ID: 12,
    Field.NDIM: 16,
    Field.TYPE_CODE: 20,
    Field.TYPE_BITS: 21,
    Field.TYPE_LANES: 22,
    Field.SHAPE: 24,
    Field.STRIDES: 32,
    Field.BYTE_OFFSET: 40,
    Field.VALUE: 0,
}
