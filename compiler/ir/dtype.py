"""Data types as TVM spells them: ``bool``, ``int8``, ``uint64``, ``float16``, ``float32x8``, ``handle``.

Nodes carry the string; these functions take it apart, each answer remembered.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import NamedTuple

from compiler.ir.error import DTypeError, show

_PATTERN = re.compile(r"^(bool|int|uint|float|bfloat|handle|void)(\d*)(?:x(\d+))?$")
_WIDTHS = {"int": (1, 4, 8, 16, 32, 64), "uint": (1, 4, 8, 16, 32, 64), "float": (16, 32, 64), "bfloat": (16,)}


class DType(NamedTuple):
    """A data type taken apart; ``code`` is bool, int, uint, float, bfloat, handle or void."""

    code: str
    bits: int
    lanes: int


@cache
def parse(dtype: str) -> DType:
    """Take a data type apart.

    Raises
    ------
    DTypeError
        If ``dtype`` is no data type.
    """
    if dtype == "":
        return DType("void", 0, 1)  # as TVM writes the type of a call that returns nothing
    match = _PATTERN.match(dtype) if isinstance(dtype, str) else None
    if match is None:
        raise DTypeError(f"dtype: expected a type such as 'float32', 'int8' or 'float32x8', got {show(dtype)}")
    code, width, lanes = match[1], match[2], int(match[3] or 1)
    if code in _WIDTHS:
        bits = int(width or 32)
        if bits not in _WIDTHS[code]:
            raise DTypeError(f"dtype: {code} has widths {_WIDTHS[code]}, got {show(dtype)}")
        return DType("bool", 1, lanes) if bits == 1 else DType(code, bits, lanes)
    return DType(code, {"bool": 1, "handle": 64, "void": 0}[code], lanes)


@cache
def lanes(dtype: str) -> int:
    """Return the number of lanes, 1 for a scalar."""
    return parse(dtype).lanes


@cache
def bits(dtype: str) -> int:
    """Return the width of one element in bits."""
    return parse(dtype).bits


@cache
def storage_bytes(dtype: str) -> int:
    """Return the size in memory in bytes, all lanes together."""
    d = parse(dtype)
    return max(1, d.bits // 8) * d.lanes


@cache
def element(dtype: str) -> str:
    """Return the scalar type of one lane."""
    return with_lanes(dtype, 1)


@cache
def with_lanes(dtype: str, count: int) -> str:
    """Return the same element type with ``count`` lanes."""
    d = parse(dtype)
    base = d.code if d.code in ("bool", "handle", "void") else f"{d.code}{d.bits}"
    return base if count == 1 else f"{base}x{count}"


@cache
def is_int(dtype: str) -> bool:
    """Return whether elements are signed integers."""
    return parse(dtype).code == "int"


@cache
def is_uint(dtype: str) -> bool:
    """Return whether elements are unsigned integers."""
    return parse(dtype).code == "uint"


@cache
def is_bool(dtype: str) -> bool:
    """Return whether elements are truth values."""
    return parse(dtype).code == "bool"


@cache
def is_void(dtype: str) -> bool:
    """Return whether there are no values of the type."""
    return parse(dtype).code == "void"


@cache
def is_float(dtype: str) -> bool:
    """Return whether elements are floating point."""
    return parse(dtype).code in ("float", "bfloat")


@cache
def is_integral(dtype: str) -> bool:
    """Return whether elements are integers of either sign, truth values included."""
    return parse(dtype).code in ("int", "uint", "bool")


MAX_LANES = 1 << 15
"""Lanes of the longest vector; LLVM's instruction selection fails on those of 2**16."""


@cache
def int_range(dtype: str) -> tuple[int, int]:
    """Return the smallest and largest value of an integer type."""
    d = parse(dtype)
    if d.code == "bool":
        return 0, 1
    if d.code == "uint":
        return 0, (1 << d.bits) - 1
    return -(1 << (d.bits - 1)), (1 << (d.bits - 1)) - 1


@cache
def canonical(dtype: str) -> str:
    """Return the one spelling of a data type: ``uint1`` and ``int1`` are ``bool``, ``int`` is ``int32``."""
    return with_lanes(dtype, lanes(dtype))


_OVERFLOWS = {"float16": 2.0**16 - 2.0**4, "bfloat16": 2.0**128 - 2.0**119, "float32": 2.0**128 - 2.0**103}


@cache
def float_overflow(dtype: str) -> float:
    """Return the smallest magnitude that a floating-point type rounds to infinity.

    Raises
    ------
    DTypeError
        If ``dtype`` is not that of a floating-point scalar.
    """
    if not is_float(dtype) or lanes(dtype) > 1:
        raise DTypeError(f"dtype: expected that of a floating-point scalar, got {show(dtype)}")
    return _OVERFLOWS.get(dtype, math.inf)
