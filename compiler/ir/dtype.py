"""Data types as TVM spells them: ``bool``, ``int8``, ``uint64``, ``float16``, ``float32x8``, ``handle``.

Nodes carry the string; these functions take it apart, each answer remembered.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import NamedTuple

from compiler.ir.error import DTypeError, show

_PATTERN = re.compile(
    r"^(bool|int|uint|float|bfloat|handle|void|e4m3_float|e5m2_float|custom\[\w+\])(\d*)(?:x(vscalex)?(\d+))?$"
)
_MEMORY_WIDTHS = (1, 4, 8, 16, 32, 64)
_INTEGER_WIDTHS = (*_MEMORY_WIDTHS, 24, 40, 48, 56)
_WIDTHS = {
    "int": _INTEGER_WIDTHS,
    "uint": _INTEGER_WIDTHS,
    "float": (16, 32, 64),
    "bfloat": (16,),
    "e4m3_float": (8,),
    "e5m2_float": (8,),
}
_FLOATS = ("float", "bfloat", "e4m3_float", "e5m2_float")
_CUSTOM = "custom["


class DType(NamedTuple):
    """A data type taken apart.

    ``code`` is bool, int, uint, float, bfloat, e4m3_float, e5m2_float, handle, void or ``custom[name]``.  The lanes of
    a scalable vector, ``float32xvscalex4``, are negative: -4 stands for four times the processor's ``vscale``.
    """

    code: str
    bits: int
    lanes: int

    @property
    def is_custom(self) -> bool:
        """Whether elements are of a type that the program registered."""
        return self.code.startswith(_CUSTOM)


class CustomDataTypes:
    """The data types that programs registered, by name, with their codes."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def register(self, name: str, code: int) -> None:
        """Let ``custom[name]`` be a data type."""
        if self._codes.get(name, code) != code or any(c == code and n != name for n, c in self._codes.items()):
            raise DTypeError(f"datatype.register: the name {name!r} or the code {code} is registered already")
        self._codes[name] = code

    def code(self, name: str) -> int:
        """Return the code of a type."""
        if name not in self._codes:
            raise DTypeError(f"Type name {name} not registered: call tvm.target.datatype.register first")
        return self._codes[name]

    def name(self, code: int) -> str:
        """Return the name of the type of a code."""
        for name, registered in self._codes.items():
            if registered == code:
                return name
        raise DTypeError(f"Type code {code} not registered: call tvm.target.datatype.register first")

    def is_code(self, code: int) -> bool:
        """Return whether a type of that code is registered."""
        return code in self._codes.values()

    def any_registered(self) -> bool:
        """Return whether there is any such type."""
        return bool(self._codes)


CUSTOM_TYPES = CustomDataTypes()


@cache
def parse(dtype: str) -> DType:
    """Take a data type apart."""
    if dtype == "":
        return DType("void", 0, 1)  # as TVM writes the type of a call that returns nothing
    match = _PATTERN.match(dtype) if isinstance(dtype, str) else None
    if match is None:
        raise DTypeError(f"dtype: expected a type such as 'float32', 'int8' or 'float32x8', got {show(dtype)}")
    code, width, lanes = match[1], match[2], int(match[4] or 1)
    lanes = -lanes if match[3] else lanes
    if code.startswith(_CUSTOM):
        CUSTOM_TYPES.code(custom_name(code))
        return DType(code, int(width or 32), lanes)
    if code in _WIDTHS:
        bits = int(width or 32)
        if bits not in _WIDTHS[code]:
            raise DTypeError(f"dtype: {code} has widths {_WIDTHS[code]}, got {show(dtype)}")
        return DType("bool", 1, lanes) if bits == 1 else DType(code, bits, lanes)
    return DType(code, {"bool": 1, "handle": 64, "void": 0}[code], lanes)


def custom_name(dtype: str) -> str:
    """Return the name in ``custom[name]32``."""
    return dtype.partition("[")[2].partition("]")[0]


@cache
def is_custom(dtype: str) -> bool:
    """Return whether elements are of a type that the program registered."""
    return parse(dtype).is_custom


@cache
def lanes(dtype: str) -> int:
    """Return the number of lanes, 1 for a scalar; -4 for four times ``vscale``."""
    return parse(dtype).lanes


@cache
def is_scalable(dtype: str) -> bool:
    """Return whether the type is that of vectors whose length the processor says."""
    return parse(dtype).lanes < 0


@cache
def is_vector(dtype: str) -> bool:
    """Return whether values have several lanes, or a number that the processor says."""
    return parse(dtype).lanes != 1


@cache
def bits(dtype: str) -> int:
    """Return the width of one element in bits."""
    return parse(dtype).bits


@cache
def storage_bytes(dtype: str) -> int:
    """Return the size in memory in bytes, all lanes together."""
    d = parse(dtype)
    if d.lanes < 0:
        raise DTypeError(f"dtype: the size of {dtype} is known only at run time")
    return max(1, d.bits // 8) * d.lanes


@cache
def element(dtype: str) -> str:
    """Return the scalar type of one lane."""
    return with_lanes(dtype, 1)


@cache
def with_lanes(dtype: str, count: int) -> str:
    """Return the same element type with ``count`` lanes, negative for multiples of ``vscale``."""
    d = parse(dtype)
    base = d.code if d.code in ("bool", "handle", "void") else f"{d.code}{d.bits}"
    return base if count == 1 else f"{base}x{count}" if count > 0 else f"{base}xvscalex{-count}"


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
    return parse(dtype).code in _FLOATS


@cache
def is_real(dtype: str) -> bool:
    """Return whether elements are floating point, or of a type that the program registered, which stand for such."""
    return is_float(dtype) or is_custom(dtype)


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
def require_in_memory(dtype: str) -> None:
    """Raise an error unless elements of a type lie in memory one after the other."""
    if is_integral(dtype) and bits(dtype) not in _MEMORY_WIDTHS:
        raise DTypeError(f"dtype: elements in memory have widths {_MEMORY_WIDTHS}, got {show(dtype)}")


@cache
def constant_range(dtype: str) -> tuple[int, int]:
    """Return the smallest and largest integer constant of a type."""
    if not (is_integral(dtype) or is_bool(dtype)) or lanes(dtype) != 1:
        raise DTypeError(f"dtype: expected that of an integer or boolean scalar, got {show(dtype)}")
    return int_range(dtype)


@cache
def canonical(dtype: str) -> str:
    """Return the one spelling of a data type: ``uint1`` and ``int1`` are ``bool``, ``int`` is ``int32``."""
    return with_lanes(dtype, lanes(dtype))


LARGEST = {"e4m3_float8": 448.0, "e5m2_float8": 57344.0, "float16": 65504.0}
"""The largest finite value of each narrow floating-point type."""

_OVERFLOWS = {
    **{dtype: math.nextafter(value, math.inf) for dtype, value in LARGEST.items()},
    "bfloat16": 2.0**128 - 2.0**119,
    "float32": 2.0**128 - 2.0**103,
}


@cache
def float_overflow(dtype: str) -> float:
    """Return the smallest magnitude that is too large for a floating-point type; infinity where none is known.

    What is larger than the largest value of a narrow type is too large for it; ``float32`` and ``bfloat16`` also take
    what rounds to their largest value, as C's ``FLT_MAX`` in decimal does.
    """
    if not is_real(dtype) or lanes(dtype) > 1:
        raise DTypeError(f"dtype: expected that of a floating-point scalar, got {show(dtype)}")
    return _OVERFLOWS.get(dtype, math.inf)
