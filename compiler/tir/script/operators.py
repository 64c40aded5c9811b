"""Operators of TVMScript expressions.

Python's arithmetic folds constants and drops neutral elements, as it does outside of scripts.  Comparisons, ``and`` and
``or``, and the nodes by name (``T.Add(i, 0)``) are exactly what stands there.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr.primexpr import (
    BINARY_OPERATIONS,
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    BinaryOp,
    Call,
    Div,
    ExprLike,
    ExprOperators,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    PrimExpr,
    StringImm,
    Sub,
    binary,
    const,
    convert,
    match_types,
)
from compiler.ir.op import Op
from compiler.tir.expressions.call_types import call_dtype

__all__ = [
    "BINARY", "BITWISE", "COMPARISONS", "FOLDING_FUNCTIONS", "FUNCTIONS", "PYTHON_COMPARISONS", "PYTHON_OPERATORS",
    "binary_node", "call_op", "folded_binary", "is_symbolic",
]  # fmt: skip

Value: TypeAlias = Any
"""What an expression of a script stands for: an expression of the IR, a buffer, or any object of Python."""
PythonOperator: TypeAlias = Callable[[Value, Value], Value]

PYTHON_OPERATORS: dict[type[ast.operator], PythonOperator] = {
    ast.Add: operator.add, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.LShift: operator.lshift,
    ast.MatMult: operator.matmul, ast.Mod: operator.mod, ast.Mult: operator.mul, ast.Pow: operator.pow,
    ast.RShift: operator.rshift, ast.Sub: operator.sub,
}  # fmt: skip
"""What Python's binary operators do to values of the program's text."""

BINARY: dict[type[ast.operator], type[BinaryOp]] = {
    ast.Add: Add, ast.Sub: Sub, ast.Mult: Mul, ast.Div: Div, ast.FloorDiv: FloorDiv, ast.Mod: FloorMod,
}  # fmt: skip
"""The nodes that they make of expressions."""

BITWISE: dict[type[ast.operator], str] = {
    ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor", ast.LShift: "shift_left",
    ast.RShift: "shift_right",
}  # fmt: skip
"""The bitwise operators by the names of their functions."""

COMPARISONS: dict[type[ast.cmpop], tuple[PythonOperator, type[BinaryOp]]] = {
    ast.Eq: (operator.eq, EQ), ast.NotEq: (operator.ne, NE), ast.Lt: (operator.lt, LT), ast.LtE: (operator.le, LE),
    ast.Gt: (operator.gt, GT), ast.GtE: (operator.ge, GE),
}  # fmt: skip

PYTHON_COMPARISONS: dict[type[ast.cmpop], PythonOperator] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, items: operator.contains(items, item),
    ast.NotIn: lambda item, items: not operator.contains(items, item),
}
"""Python's comparisons that ask about values of the program's text, not of its run."""

FUNCTIONS = {kind.__name__: kind for kind in BINARY_OPERATIONS}
"""Nodes of binary operators by their names in ``T``."""

FOLDING_FUNCTIONS: dict[str, type[BinaryOp]] = {
    "floordiv": FloorDiv,
    "floormod": FloorMod,
    "max": Max,
    "min": Min,
    "truncdiv": Div,
    "truncmod": Mod,
}
"""Binary operators as functions of ``T`` that fold constants."""


def is_symbolic(value: object) -> bool:
    """Return whether a value is an expression instead of a Python number."""
    return isinstance(value, ExprOperators) or hasattr(value, "asobject")


def binary_node(kind: type[BinaryOp], a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the node of a binary operator; a Python number has the type of the other operand."""
    x, y = matched(a, b, kind.__name__)
    if kind in (FloorDiv, FloorMod) and not dt.is_integral(x.dtype):
        raise DTypeError(f"{kind.__name__}: operands must be integers, got {x.dtype} in {show(x)}")
    return kind(x, y)


def folded_binary(kind: type[BinaryOp], a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return a binary operator's value or node; a Python number has the type of the other operand."""
    return binary(kind, *matched(a, b, kind.__name__))


def matched(a: ExprLike, b: ExprLike, operation: str) -> tuple[PrimExpr, PrimExpr]:
    """Return two operands as expressions of one type; a Python number has the type of the other one."""
    return match_types(_of_type(a, b), _of_type(b, a), operation)


def _of_type(value: ExprLike, other: ExprLike) -> ExprLike:
    """Return a Python number as a constant of the other operand's type, where that can hold it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not is_symbolic(other):
        return value
    dtype = dt.element(convert(other).dtype)
    return const(value, dtype) if dt.is_float(dtype) or _fits(value, dtype) else value


def _fits(value: float, dtype: str) -> bool:
    """Return whether an integer type holds a number."""
    if not isinstance(value, int) or not dt.is_integral(dtype) or dt.is_bool(dtype):
        return False
    low, high = dt.int_range(dtype)
    return low <= value <= high


def call_op(op: Op, *args: object, dtype: str | None = None) -> PrimExpr:
    """Return the call of an operator.

    An operator that does not show its type in its operands takes its data type first, or last where calls print it
    there.
    """
    if dtype is not None:
        dtype = dtype or "void"
        dt.parse(dtype)
        return Call(dtype, op, tuple([_operand(a) for a in args]))
    operands = list(args)
    if op.prints_dtype:
        # What was printed before these calls had their type last has it first.
        place = -1 if op.dtype_is_last and operands and isinstance(operands[-1], str) else 0
        if not operands or not isinstance(operands[place], str):
            where = "last" if op.dtype_is_last else "first"
            raise ArgumentError(f'T.{op.name.removeprefix("tir.")}: the data type comes {where}, e.g. "int32"')
        result = str(operands.pop(place))
        dt.parse(result)
        return Call(result, op, tuple([_operand(a) for a in operands]))
    exprs = tuple([_operand(a) for a in operands])
    return Call(call_dtype(op, exprs), op, exprs)


def _operand(value: ExprLike) -> PrimExpr:
    return StringImm(value) if isinstance(value, str) else convert(value)
