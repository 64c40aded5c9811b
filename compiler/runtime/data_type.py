"""Data types as values with parts: ``tvm.DataType``."""

from __future__ import annotations

from enum import IntEnum

from compiler.ir import dtype as dt

__all__ = ["DataType", "DataTypeCode"]


class DataTypeCode(IntEnum):
    """Kinds of elements, numbered as DLPack does."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4


_CODES = {
    "int": DataTypeCode.INT,
    "uint": DataTypeCode.UINT,
    "bool": DataTypeCode.UINT,
    "float": DataTypeCode.FLOAT,
    "bfloat": DataTypeCode.BFLOAT,
    "handle": DataTypeCode.HANDLE,
}


class DataType(str):
    """A data type, which is also its name: ``DataType("int32x4").lanes`` is 4.

    Parameters
    ----------
    type_str : str
        Such as ``float32``, ``uint8`` or ``float16x8``.

    Raises
    ------
    DTypeError
        If there is no such data type.
    """

    __slots__ = ()

    def __new__(cls, type_str: str) -> DataType:
        dt.parse(type_str)
        return super().__new__(cls, type_str)

    @property
    def type_code(self) -> DataTypeCode:
        """The kind of its elements."""
        return _CODES[dt.element(self).rstrip("0123456789")]

    @property
    def bits(self) -> int:
        """The width of an element."""
        return dt.bits(self)

    @property
    def lanes(self) -> int:
        """How many elements a vector has, 1 for a scalar."""
        return dt.lanes(self)

    def itemsize(self) -> int:
        """Return how many bytes a value takes.

        Returns
        -------
        int
            Rounded up to whole bytes.
        """
        return (self.bits * self.lanes + 7) // 8
