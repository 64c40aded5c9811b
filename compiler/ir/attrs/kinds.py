"""Value kinds of attributes: numbers, sequences, data types and choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import AttrKind, Attrs
from compiler.ir.attrs.integer import IntAttr
from compiler.ir.env_func import EnvFunc
from compiler.ir.expr.primexpr import IntImm, PrimExpr, as_exprs

T = TypeVar("T")


class Items(tuple[T, ...]):
    """A sequence as an attribute, which is written as a list: ``[1, 2]``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"


class _Plain(AttrKind[T]):
    """A kind that is a function of the value alone."""

    __slots__ = ("_convert",)

    def __init__(self, type_name: str, convert: Callable[[object], T]) -> None:
        super().__init__(type_name)
        self._convert = convert

    def convert(self, value: object, owner: type[Attrs]) -> T:
        return self._convert(value)


class _DataType(_Plain[str]):
    """A kind whose values are names of data types."""

    __slots__ = ()

    is_data_type = True


def as_int(value: object) -> int | None:
    """Return a value as an int; None if it is not one."""
    if type(value) is int or type(value) is IntAttr:  # nearly always; the check below takes a hundred times as long
        return value
    if isinstance(value, IntImm):
        return value.value
    return int(value) if hasattr(value, "__index__") and not isinstance(value, bool) else None


def _int(value: object) -> int:
    number = as_int(value)
    if number is None:
        raise ValueError("an int")
    return IntAttr(number)


def _positive(value: object) -> int:
    number = as_int(value)
    if number is None or number < 1:
        raise ValueError("a positive int")
    return IntAttr(number)


def _bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    number = as_int(value)
    if isinstance(value, np.bool_):
        return bool(value)
    if number not in (0, 1):
        raise ValueError("a bool")
    return bool(number)


def _float(value: object) -> float:
    if type(value) is float:
        return value
    if isinstance(value, (str, bytes, bool)) or not hasattr(value, "__float__"):
        raise ValueError("a number")
    return float(value)


def _number(value: object) -> int | float:
    number = as_int(value)
    return _float(value) if number is None else number


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a string")
    return value


def _dtype(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a data type such as 'float32'")
    dt.parse(value)
    return value


def _optional_dtype(value: object) -> str:
    return "" if value is None or value == "" else _dtype(value)


def _ints(value: object) -> tuple[int, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return Items((_int(value),))
    return Items(_int(v) for v in value)


def _int_sequence(value: object) -> tuple[int, ...]:
    try:
        return _ints(value)
    except ValueError:
        raise ValueError("an int or a sequence of ints") from None


def _extent(value: object) -> int | PrimExpr:
    if isinstance(value, PrimExpr) and not isinstance(value, IntImm):
        return value
    return _int(value)


def _shape(value: object) -> tuple[int | PrimExpr, ...]:
    values = value if isinstance(value, Iterable) else (value,)
    try:
        return Items(_extent(v) for v in values)
    except ValueError:
        raise ValueError("a sequence of extents") from None


def _floats(value: object) -> tuple[float, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ValueError("a sequence of numbers")
    return Items(_float(v) for v in value)


def _pairs(value: object) -> tuple[tuple[int, int], ...]:
    try:
        pairs = [tuple(pair) for pair in value] if isinstance(value, Iterable) else [()]
        return Items((_int(low), _int(high)) for low, high in pairs)
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
DTYPE: AttrKind[str] = _DataType("str", _dtype)
OPTIONAL_DTYPE: AttrKind[str] = _DataType("str", _optional_dtype)
"""A data type, or empty: that of the data."""
INTS: AttrKind[tuple[int, ...]] = _Plain("int or sequence of int", _int_sequence)
FLOATS: AttrKind[tuple[float, ...]] = _Plain("sequence of float", _floats)
SHAPE: AttrKind[tuple[int | PrimExpr, ...]] = _Plain("sequence of int or PrimExpr", _shape)
PAIRS: AttrKind[tuple[tuple[int, int], ...]] = _Plain("sequence of pairs of int", _pairs)


def _function(value: object) -> EnvFunc:
    if not isinstance(value, EnvFunc):
        raise ValueError("a function that is registered under a name")
    return value


EXPRS: AttrKind[tuple[PrimExpr, ...]] = _Plain("sequence of PrimExpr", as_exprs)
FUNCTION: AttrKind[EnvFunc] = _Plain("EnvFunc", _function)


def int_between(low: int, high: int) -> AttrKind[int]:
    """Return the kind of ints from ``low`` to ``high``."""

    def check(value: object) -> int:
        number = as_int(value)
        if number is None or not low <= number <= high:
            raise ValueError(f"an int from {low} to {high}")
        return IntAttr(number)

    return _Plain("int", check)


class _Optional(AttrKind[T | None]):
    __slots__ = ("_kind",)

    def __init__(self, kind: AttrKind[T]) -> None:
        super().__init__(f"{kind.type_name}, optional")
        self._kind = kind

    def convert(self, value: object, owner: type[Attrs]) -> T | None:
        return None if value is None else self._kind.convert(value, owner)


def optional(kind: AttrKind[T]) -> AttrKind[T | None]:
    """Return the kind of values that may also be None."""
    return _Optional(kind)


def one_of(*choices: str) -> AttrKind[str]:
    """Return the kind of strings that are one of ``choices``."""

    def choose(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"one of {', '.join(map(repr, choices))}")
        return value

    return _Plain("{" + ", ".join(map(repr, choices)) + "}", choose)


def int_or_ints(value: object) -> int | tuple[int, ...]:
    """Return an int as it is, and a sequence of ints as a tuple."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _int_sequence(value)
    return _int(value)


INT_OR_INTS: AttrKind[int | tuple[int, ...]] = _Plain("int or sequence of int", int_or_ints)
