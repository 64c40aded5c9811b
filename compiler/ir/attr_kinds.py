"""The kinds of values that attributes take: numbers, sequences of them, data types, choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from compiler.ir import dtype as dt
from compiler.ir.attrs import AttrKind, Attrs
from compiler.ir.primexpr import IntImm, PrimExpr

T = TypeVar("T")


class _Plain(AttrKind[T]):
    """A kind that is a function of the value alone."""

    __slots__ = ("_convert",)

    def __init__(self, type_name: str, convert: Callable[[Any], T]) -> None:
        super().__init__(type_name)
        self._convert = convert

    def convert(self, value: Any, owner: type[Attrs]) -> T:
        return self._convert(value)


def as_int(value: Any) -> int | None:
    """Return a value as an int; None if it is none."""
    if isinstance(value, IntImm):
        return value.value
    return int(value) if hasattr(value, "__index__") and not isinstance(value, bool) else None


def _int(value: Any) -> int:
    number = as_int(value)
    if number is None:
        raise ValueError("an int")
    return number


def _positive(value: Any) -> int:
    number = as_int(value)
    if number is None or number < 1:
        raise ValueError("a positive int")
    return number


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    number = as_int(value)
    if number is None and type(value).__name__ in ("bool_", "bool"):  # NumPy's
        number = int(value)
    if number not in (0, 1):
        raise ValueError("a bool")
    return bool(number)


def _float(value: Any) -> float:
    if isinstance(value, (str, bytes, bool)) or not hasattr(value, "__float__"):
        raise ValueError("a number")
    return float(value)


def _number(value: Any) -> int | float:
    number = as_int(value)
    return _float(value) if number is None else number


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a string")
    return value


def _dtype(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a data type such as 'float32'")
    dt.parse(value)
    return value


def _optional_dtype(value: Any) -> str:
    return "" if value is None or value == "" else _dtype(value)


def _ints(value: Any) -> tuple[int, ...]:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return (_int(value),)
    return tuple(_int(v) for v in value)


def _int_sequence(value: Any) -> tuple[int, ...]:
    try:
        return _ints(value)
    except ValueError:
        raise ValueError("an int or a sequence of ints") from None


def _extent(value: Any) -> int | PrimExpr:
    if isinstance(value, PrimExpr) and not isinstance(value, IntImm):
        return value
    return _int(value)


def _shape(value: Any) -> tuple[int | PrimExpr, ...]:
    values = value if isinstance(value, (tuple, list)) or hasattr(value, "__iter__") else (value,)
    try:
        return tuple(_extent(v) for v in values)
    except ValueError:
        raise ValueError("a sequence of extents") from None


def _floats(value: Any) -> tuple[float, ...]:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise ValueError("a sequence of numbers")
    return tuple(_float(v) for v in value)


def _pairs(value: Any) -> tuple[tuple[int, int], ...]:
    try:
        return tuple((_int(low), _int(high)) for low, high in value)
    except (TypeError, ValueError):
        raise ValueError("a pair of ints for each axis") from None


INT: AttrKind[int] = _Plain("int", _int)
POSITIVE_INT: AttrKind[int] = _Plain("int", _positive)
BOOL: AttrKind[bool] = _Plain("bool", _bool)
FLAG: AttrKind[bool] = _Plain("bool, optional", lambda value: False if value is None else _bool(value))
"""A bool that may be left out by None, which means False."""
FLOAT: AttrKind[float] = _Plain("float", _float)
NUMBER: AttrKind[int | float] = _Plain("int or float", _number)
STRING: AttrKind[str] = _Plain("str", _string)
DTYPE: AttrKind[str] = _Plain("str", _dtype)
OPTIONAL_DTYPE: AttrKind[str] = _Plain("str", _optional_dtype)
"""A data type, or empty: that of the data."""
INTS: AttrKind[tuple[int, ...]] = _Plain("int or sequence of int", _int_sequence)
FLOATS: AttrKind[tuple[float, ...]] = _Plain("sequence of float", _floats)
SHAPE: AttrKind[tuple[int | PrimExpr, ...]] = _Plain("sequence of int or PrimExpr", _shape)
PAIRS: AttrKind[tuple[tuple[int, int], ...]] = _Plain("sequence of pairs of int", _pairs)


class _Optional(AttrKind[T | None]):
    __slots__ = ("_kind",)

    def __init__(self, kind: AttrKind[T]) -> None:
        super().__init__(f"{kind.type_name}, optional")
        self._kind = kind

    def convert(self, value: Any, owner: type[Attrs]) -> T | None:
        return None if value is None else self._kind.convert(value, owner)


def optional(kind: AttrKind[T]) -> AttrKind[T | None]:
    """Return the kind of values that may also be None."""
    return _Optional(kind)


def one_of(*choices: str) -> AttrKind[str]:
    """Return the kind of strings that are one of ``choices``."""

    def choose(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"one of {', '.join(map(repr, choices))}")
        return value

    return _Plain("{" + ", ".join(map(repr, choices)) + "}", choose)


def int_or_ints(value: Any) -> int | tuple[int, ...]:
    """Return an int as it is, and a sequence of ints as a tuple."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _int_sequence(value)
    return _int(value)


INT_OR_INTS: AttrKind[int | tuple[int, ...]] = _Plain("int or sequence of int", int_or_ints)
