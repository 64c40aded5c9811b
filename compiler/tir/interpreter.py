"""An interpreter of TIR that checks every access, as a reference for passes and back ends.

It executes a function at any stage of lowering, loops of every kind one iteration after the other, and raises
:class:`OutOfBounds` for an access outside of a buffer and :class:`UninitializedRead` for one of local memory that
was never written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from compiler.ir.error import ArgumentError, counted
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.tir.expressions.evaluation import Array, DivisionByZero, Value, Values, cast_value, numpy_dtype
from compiler.tir.printing.python_expression import AssertionFailed, FunctionReturn, PythonExpression
from compiler.tir.printing.python_source import PythonSource
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.memory import OutOfBounds, UninitializedRead, compact

__all__ = [
    "AssertionFailed", "BoundArray", "DivisionByZero", "OutOfBounds", "UninitializedRead", "bind_arguments",
    "interpret",
]  # fmt: skip


class BoundArray(NamedTuple):
    """An array that is an argument: the parameter's buffer, the array, and its flat copy, which a run changes."""

    buffer: Buffer
    array: Array
    flat: Array


def interpret(
    func: PrimFunc, arrays: Sequence[object], source_of: Callable[[Values], PythonSource] = PythonSource
) -> None:
    """Run a function on arrays, which it changes in place.

    There is an array for each buffer, of its shape and data type, and a number for each scalar. ``source_of`` makes
    what writes the program as Python, from the values of variables that are given.
    """
    values, memories = bind_arguments(func, arrays, "interpret")
    source = source_of(values)
    for buffer, _, flat in memories:
        source.add_memory(buffer.data, flat)
    run = source.function(func.body)
    with np.errstate(all="ignore"):
        try:
            with suppress(FunctionReturn):
                run()
        finally:
            for _, array, flat in memories:
                array[...] = flat.reshape(array.shape)


def bind_arguments(func: PrimFunc, arrays: Sequence[object], operation: str) -> tuple[Values, list[BoundArray]]:
    """Return the values of a function's variables, and its memory, for some arguments."""
    if len(arrays) != len(func.params):
        raise ArgumentError(f"{operation}: expected {counted(len(func.params), 'argument')}, got {len(arrays)}")
    values: Values = {}
    memories: list[BoundArray] = []
    for position, (param, value) in enumerate(zip(func.params, arrays, strict=True)):
        buffer = func.buffer_map.get(param)
        if buffer is None:
            values[param] = _scalar(f"{operation}: argument {position} ({param.name})", param, value)
        else:
            what = f"{operation}: argument {position} ({buffer.name})"
            array = _checked(what, buffer, value)
            memories.append(BoundArray(buffer, array, _bind_array(values, what, buffer, array)))
    return values, memories


def _scalar(what: str, param: Var, value: object) -> Value:
    if isinstance(value, np.ndarray) and value.ndim:
        raise ArgumentError(f"{what} must be a {param.dtype}, got an array")
    return cast_value(value, "float64" if isinstance(value, (float, np.floating)) else "int64", param.dtype)


def _checked(what: str, buffer: Buffer, value: object) -> Array:
    if not isinstance(value, np.ndarray):
        raise ArgumentError(f"{what} must be an array, got {type(value).__name__}")
    if value.dtype != numpy_dtype(buffer.dtype):
        raise ArgumentError(f"{what} must be of type {buffer.dtype}, got {value.dtype}")
    if value.ndim != len(buffer.shape):
        raise ArgumentError(f"{what} must have {len(buffer.shape)} dimensions, got {value.ndim}")
    return value


def _bind_array(values: Values, what: str, buffer: Buffer, value: Array) -> Array:
    """Give values to the variables of a buffer's shape, and return a flat copy of its array."""
    for expected, actual in (*zip(buffer.shape, value.shape, strict=True), (buffer.elem_offset, 0)):
        _bind(values, expected, actual, what)
    for expected, actual in zip(buffer.strides, compact(value.shape), strict=False):
        _bind(values, expected, actual, what)
    return np.array(value, order="C").reshape(-1)


def _bind(values: Values, expected: PrimExpr, actual: int, what: str) -> None:
    """Let a variable have a value; anything else must have it already."""
    if isinstance(expected, Var) and expected not in values:
        values[expected] = actual
    elif PythonExpression(values).value(expected) != actual:
        raise ArgumentError(f"{what}: expected {expected} elements, got {actual}")
