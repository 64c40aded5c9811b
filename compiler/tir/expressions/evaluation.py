"""Evaluation of operations with machine semantics: the library of interpreted programs.

A scalar integer is a Python int within the range of its type, a truth value a bool, a scalar float a NumPy scalar of
its type, a vector a NumPy array.  Integers wrap around.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError, DTypeError, TVMError
from compiler.ir.expr.primexpr import (
    BinaryOp,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Var,
    trunc_div,
    trunc_mod,
    wrap_int,
)
from compiler.runtime.arrays import ndarray

Value: TypeAlias = Any
"""What an expression is worth in a run: a number of Python or NumPy, or an array with an element for each lane."""
Array: TypeAlias = np.ndarray[Any, Any]
ElementType: TypeAlias = np.dtype[Any]
Values: TypeAlias = dict[Var, Value]

UFUNCS: dict[str, np.ufunc] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.remainder, "truncmod": np.fmod,
    "min": np.minimum, "max": np.maximum, "and": np.logical_and, "or": np.logical_or,
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
"""NumPy's functions of the operations that divide no integers towards zero, by symbol."""


class DivisionByZero(TVMError):
    """An integer was divided by zero."""


def numpy_dtype(dtype: str) -> ElementType:
    """Return NumPy's type of one element."""
    element = dt.element(dtype)
    try:
        return ndarray.numpy_dtype(element)
    except DTypeError:
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


def _float_to_int(value: Value, target: str) -> int:
    return wrap_int(int(value), target) if np.isfinite(value) else 0


def select(condition: Value, true_value: Value, false_value: Value) -> Value:
    """Return one of two values that are there already, or each lane from one of them."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, true_value, false_value)
    return true_value if condition else false_value


def shuffle(vectors: tuple[Value, ...], indices: tuple[int, ...], dtype: str) -> Value:
    """Return the lanes of the joined vectors that the indices pick."""
    lanes = np.concatenate([np.atleast_1d(v) for v in vectors])[list(indices)]
    return from_numpy(lanes if len(indices) > 1 else lanes[0], dtype)


def reinterpret(value: Value, source: str, target: str) -> Value:
    """Return the same bits as another type."""
    bits = np.atleast_1d(to_numpy(value, source)).view(numpy_dtype(target))
    return from_numpy(bits if dt.lanes(target) > 1 else bits[0], target)


def leading_zeros(value: int, width: int) -> int:
    """Return the number of zero bits above the highest bit set."""
    return width - (value & ((1 << width) - 1)).bit_length()


def operation(kind: type[BinaryOp], dtype: str) -> Callable[[Value, Value], Value]:
    """Return the function for a division of operands of type ``dtype``, or for a minimum or maximum of vectors."""
    if kind is Min:
        return _min
    if kind is Max:
        return _max
    if not dt.is_integral(dtype):
        return {Div: np.divide, Mod: np.fmod}[kind]
    if dt.lanes(dtype) > 1:
        return _of_lanes(kind)
    evaluate = kind.evaluate

    def divide(a: int, b: int) -> int:
        if b == 0:
            raise DivisionByZero(f"{kind.__name__}: {a} {kind.symbol} 0 was evaluated")
        return wrap_int(evaluate(a, b), dtype)  # the smallest integer by -1 does not fit

    return divide


def _of_lanes(kind: type[BinaryOp]) -> Callable[[Value, Value], Value]:
    functions: dict[type[BinaryOp], Callable[[Array, Array], Array]] = {
        Div: partial(_by_lane, trunc_div),
        Mod: partial(_by_lane, trunc_mod),
        FloorDiv: np.floor_divide,
        FloorMod: np.remainder,
    }
    function = functions[kind]

    def divide(a: Array, b: Array) -> Array:
        if not b.all():
            raise DivisionByZero(f"{kind.__name__}: a lane of {a} was divided by zero")
        return function(a, b)

    return divide


def _by_lane(function: Callable[[int, int], int], a: Array, b: Array) -> Array:
    return np.array([function(int(x), int(y)) for x, y in zip(a, b, strict=True)], a.dtype)


def _min(a: Value, b: Value) -> Value:
    """Return the minimum as it is compiled, ``a < b ? a : b``, so that not-a-number gives ``b``."""
    return np.where(a < b, a, b)


def _max(a: Value, b: Value) -> Value:
    return np.where(a > b, a, b)
