"""Parameters as bytes, in the format of TVM's ``.params`` files.

A list of names and a list of arrays, each after a number that says what follows; all numbers little-endian, an array's
header as DLPack has it (device, rank, data type, extents).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, expected
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, array, empty, numpy_dtype

_LIST = 0xF7E58D4F05049CB7
_ARRAY = 0xDD5E40F096B4A13F
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4}
_MAX_DIMENSIONS = 64


def save_param_dict(params: Mapping[str, ArrayLike]) -> bytearray:
    """Return parameters as bytes, for :func:`load_param_dict`; data types that TVM's layout lacks are refused."""
    if not isinstance(params, Mapping):
        expected("save_param_dict", "params", "a dict of arrays by name", params)
    arrays = [v if isinstance(v, NDArray) else array(v) for v in params.values()]
    out = bytearray(struct.pack("<QQQ", _LIST, 0, len(arrays)))
    for name in params:
        encoded = str(name).encode()
        out += struct.pack("<Q", len(encoded)) + encoded
    out += struct.pack("<Q", len(arrays))
    for item in arrays:
        code, bits = _code(item.dtype)
        out += struct.pack("<QQiiiBBH", _ARRAY, 0, 1, 0, item.ndim, code, bits, 1)
        out += struct.pack(f"<{item.ndim}qq", *item.shape, item.nbytes)
        out += item.view().tobytes()
    return out


def load_param_dict(param_bytes: bytes | bytearray) -> dict[str, NDArray]:
    """Return the parameters that :func:`save_param_dict` wrote, the content of a ``.params`` file.

    Raises ArgumentError if the bytes are something else, or damaged.
    """
    reader = _Reader(bytes(param_bytes))
    magic, _, count = reader.numbers("<QQQ")
    if magic != _LIST:
        raise ArgumentError("load_param_dict: these bytes were not written by save_param_dict")
    names = [reader.take(reader.numbers("<Q")[0]).decode(errors="replace") for _ in range(reader.counted(count))]
    if reader.numbers("<Q")[0] != count:
        raise reader.damaged()
    return {name: reader.array() for name in names}


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def damaged(self) -> ArgumentError:
        return ArgumentError(f"load_param_dict: the bytes are damaged, or end too early (at byte {self._at})")

    def counted(self, count: int) -> int:
        """Return a number of things, each of which takes a byte at least."""
        if count > len(self._data):
            raise self.damaged()
        return count

    def take(self, size: int) -> bytes:
        if size < 0 or self._at + size > len(self._data):
            raise self.damaged()
        self._at += size
        return self._data[self._at - size : self._at]

    def numbers(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def array(self) -> NDArray:
        magic, _, _, _, rank, code, bits, lanes = self.numbers("<QQiiiBBH")
        if magic != _ARRAY or not 0 <= rank <= _MAX_DIMENSIONS or lanes != 1:
            raise self.damaged()
        *shape, size = self.numbers(f"<{rank}qq")
        kind = _dtype(code, bits)
        if kind is None or any(d < 0 for d in shape):
            raise self.damaged()
        content = self.take(size)
        try:
            values = np.frombuffer(content, numpy_dtype(kind)).reshape(shape)
        except (ValueError, DTypeError):  # no such type, or elements that do not fill the shape
            raise self.damaged() from None
        made = empty(tuple(shape), kind)
        np.copyto(made.view(), values)
        return made


def _code(dtype: str) -> tuple[int, int]:
    parsed = dt.parse(dtype)
    if parsed.code == "bool":
        return 1, 1
    if parsed.code not in _CODES:
        raise DTypeError(f"save_param_dict: arrays of {dtype} cannot be written")
    return _CODES[parsed.code], parsed.bits


def _dtype(code: int, bits: int) -> str | None:
    if (code, bits) == (1, 1):
        return "bool"
    name = next((n for n, c in _CODES.items() if c == code), None)
    return f"{name}{bits}" if name is not None and bits in (8, 16, 32, 64) else None


def save_param_dict_to_file(params: Mapping[str, ArrayLike], path: str | PathLike[str]) -> None:
    """Write parameters to a file, for :func:`load_param_dict_from_file`; it overwrites what is there."""
    Path(path).write_bytes(save_param_dict(params))


def load_param_dict_from_file(path: str | PathLike[str]) -> dict[str, NDArray]:
    """Return the parameters of a file that :func:`save_param_dict_to_file` wrote."""
    return load_param_dict(Path(path).read_bytes())
