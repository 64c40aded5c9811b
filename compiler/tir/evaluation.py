"""What operations do to values, with the data types of the machine.

A scalar integer is a Python int within the range of its type, a truth value a bool, a scalar float a NumPy scalar of
its type, a vector a NumPy array.  Integers wrap around.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError, TVMError
from compiler.ir.primexpr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Or,
    Sub,
    trunc_div,
    trunc_mod,
    wrap_int,
)

Value = Any
Thunk = Callable[[], Value]


class DivisionByZero(TVMError):
    """An integer was divided by zero."""


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """Return NumPy's type of one element.

    Raises
    ------
    BuildError
        If NumPy has no such type.
    """
    element = dt.element(dtype)
    try:
        return np.dtype(element)
    except TypeError:
        raise BuildError(f"interpret: NumPy has no data type {element}") from None


def to_numpy(value: Value, dtype: str) -> Value:
    """Return a value as NumPy holds it, for functions of NumPy."""
    return value if isinstance(value, np.ndarray) else numpy_dtype(dtype).type(value)


def from_numpy(value: Value, dtype: str) -> Value:
    """Return what a function of NumPy returned as a value of type ``dtype``."""
    if dt.lanes(dtype) > 1:
        return np.broadcast_to(np.asarray(value), (dt.lanes(dtype),)).astype(numpy_dtype(dtype))
    if dt.is_bool(dtype):
        return bool(value)
    if dt.is_integral(dtype):
        return wrap_int(int(value), dtype)
    return numpy_dtype(dtype).type(value)


def cast_value(value: Value, source: str, target: str) -> Value:
    """Convert a value; floats become integers by rounding towards zero."""
    if isinstance(value, np.ndarray):
        if dt.is_bool(target):
            return value != 0
        if dt.is_float(source) and dt.is_integral(target):
            return np.array([_float_to_int(v, target) for v in value], numpy_dtype(target))
        return value.astype(numpy_dtype(target))
    if dt.is_bool(target):
        return bool(value != 0)
    if dt.is_integral(target):
        return _float_to_int(value, target) if dt.is_float(source) else wrap_int(int(value), target)
    return numpy_dtype(target).type(value)


def _float_to_int(value: Any, target: str) -> int:
    return wrap_int(int(value), target) if np.isfinite(value) else 0


def binary_operation(kind: type[BinaryOp], dtype: str, a: Thunk, b: Thunk) -> Thunk:
    """Return the function that evaluates ``kind`` on operands of type ``dtype``."""
    if dt.lanes(dtype) > 1:
        vector = _VECTOR[kind] if dt.is_integral(dtype) else _FLOAT_VECTOR.get(kind, _VECTOR[kind])
        return lambda: vector(a(), b())
    if kind in (And, Or):
        return _logic(kind, a, b)
    if dt.is_float(dtype):
        operation = _FLOAT.get(kind, kind.evaluate)
        return lambda: operation(a(), b())
    if kind in (Add, Sub, Mul):
        return _wrapping(kind, dtype, a, b)
    if kind in (Div, Mod, FloorDiv, FloorMod):
        return _division(kind, dtype, a, b)
    evaluate = kind.evaluate
    return lambda: evaluate(a(), b())


def _logic(kind: type[BinaryOp], a: Thunk, b: Thunk) -> Thunk:
    """Evaluate both sides, as compiled code does."""
    if kind is And:
        return lambda: bool(a()) & bool(b())
    return lambda: bool(a()) | bool(b())


def _wrapping(kind: type[BinaryOp], dtype: str, a: Thunk, b: Thunk) -> Thunk:
    low, high = dt.int_range(dtype)

    def add() -> int:
        value = a() + b()
        return value if low <= value <= high else wrap_int(value, dtype)

    def subtract() -> int:
        value = a() - b()
        return value if low <= value <= high else wrap_int(value, dtype)

    def multiply() -> int:
        value = a() * b()
        return value if low <= value <= high else wrap_int(value, dtype)

    return {Add: add, Sub: subtract, Mul: multiply}[kind]


def _division(kind: type[BinaryOp], dtype: str, a: Thunk, b: Thunk) -> Thunk:
    operation = kind.evaluate

    def evaluate() -> int:
        dividend, divisor = a(), b()
        if divisor == 0:
            raise DivisionByZero(f"{kind.__name__}: {dividend} {kind.symbol} 0 was evaluated")
        return wrap_int(operation(dividend, divisor), dtype)  # the smallest integer by -1 does not fit

    return evaluate


def _checked(name: str, operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def divide(a: Any, b: Any) -> Any:
        if np.any(np.asarray(b) == 0):
            raise DivisionByZero(f"{name}: a lane of {a} was divided by zero")
        return operation(a, b)

    return divide


def _by_lane(operation: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        return np.array([operation(int(x), int(y)) for x, y in zip(a, b, strict=True)], a.dtype)

    return apply


_VECTOR: dict[type[BinaryOp], Callable[[Any, Any], Any]] = {
    Add: np.add,
    Sub: np.subtract,
    Mul: np.multiply,
    Div: _checked("Div", _by_lane(trunc_div)),
    Mod: _checked("Mod", _by_lane(trunc_mod)),
    FloorDiv: _checked("FloorDiv", np.floor_divide),
    FloorMod: _checked("FloorMod", np.remainder),
    Min: np.minimum,
    Max: np.maximum,
    EQ: np.equal,
    NE: np.not_equal,
    LT: np.less,
    LE: np.less_equal,
    GT: np.greater,
    GE: np.greater_equal,
    And: np.logical_and,
    Or: np.logical_or,
}


def _c_min(a: Any, b: Any) -> Any:
    """The minimum as compiled: ``a < b ? a : b``, so that not-a-number gives ``b``."""
    return np.where(a < b, a, b) if isinstance(a, np.ndarray) else (a if a < b else b)


def _c_max(a: Any, b: Any) -> Any:
    return np.where(a > b, a, b) if isinstance(a, np.ndarray) else (a if a > b else b)


_FLOAT: dict[type[BinaryOp], Callable[[Any, Any], Any]] = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    Div: operator.truediv,
    Mod: np.fmod,
    Min: _c_min,
    Max: _c_max,
}
_FLOAT_VECTOR: dict[type[BinaryOp], Callable[[Any, Any], Any]] = {
    Div: np.divide,
    Mod: np.fmod,
    Min: _c_min,
    Max: _c_max,
}
