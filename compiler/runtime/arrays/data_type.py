"""``tvm.DataType``: data types as structured values."""

from __future__ import annotations

from enum import IntEnum

from compiler.ir import dtype as dt
from compiler.ir.error import DTypeError


class DataTypeCode(IntEnum):
    """Kinds of elements, numbered as DLPack does."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    E4M3Float = 6
    E5M2Float = 7


_CODES = {
    "int": DataTypeCode.INT,
    "uint": DataTypeCode.UINT,
    "bool": DataTypeCode.UINT,
    "float": DataTypeCode.FLOAT,
    "bfloat": DataTypeCode.BFLOAT,
    "e4m3_float": DataTypeCode.E4M3Float,
    "e5m2_float": DataTypeCode.E5M2Float,
    "handle": DataTypeCode.HANDLE,
}


class DataType(str):
    """A data type, which is also its name: ``DataType("int32x4").lanes`` is 4.

    Numbers without a width have 32 bits; there is no data type of another name.
    """

    __slots__ = ()

    def __new__(cls, type_str: str) -> DataType:
        name = f"{type_str}32" if type_str in ("int", "uint", "float") else type_str
        dt.parse(name)
        return super().__new__(cls, name)

    @property
    def type_code(self) -> DataTypeCode | int:
        """The kind of its elements; of ``custom[name]`` the number that it was registered with."""
        if dt.is_custom(self):
            return dt.CUSTOM_TYPES.code(dt.custom_name(self))
        return _CODES[dt.parse(self).code]

    @property
    def bits(self) -> int:
        """The width of an element."""
        return dt.bits(self)

    @property
    def lanes(self) -> int:
        """How many elements a vector has, 1 for a scalar."""
        if dt.is_scalable(self):
            raise DTypeError(f"Can't fetch the lanes of a scalable vector at a compile time: {self}")
        return dt.lanes(self)

    def itemsize(self) -> int:
        """Return how many bytes a value takes, rounded up to whole ones."""
        return (self.bits * self.lanes + 7) // 8
