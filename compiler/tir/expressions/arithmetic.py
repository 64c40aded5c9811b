"""Builders of arithmetic, logical and bitwise expressions under TVM's names."""

from __future__ import annotations

from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr.primexpr import (
    Add,
    And,
    BinaryOp,
    Div,
    ExprLike,
    FloorDiv,
    FloorMod,
    Mod,
    Mul,
    Or,
    PrimExpr,
    Sub,
    binary,
    bitwise,
    convert,
)


def add(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return ``lhs + rhs``; operands are numbers, or vectors of them, and brought to one type."""
    return binary(Add, lhs, rhs)


def subtract(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return ``lhs - rhs``; operands are numbers, or vectors of them, and brought to one type."""
    return binary(Sub, lhs, rhs)


def multiply(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return ``lhs * rhs``; operands are numbers, or vectors of them, and brought to one type."""
    return binary(Mul, lhs, rhs)


def div(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return ``a / b``; integers round towards zero, as in C."""
    return binary(Div, a, b)


def truncdiv(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the quotient of two integers, rounded towards zero as in C; raises DTypeError for others."""
    return _integer_division("truncdiv", Div, a, b)


def truncmod(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the remainder of :func:`truncdiv`, with the sign of ``a``; raises DTypeError for others than integers."""
    return _integer_division("truncmod", Mod, a, b)


def floordiv(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the quotient of two integers, rounded towards minus infinity like ``//``; DTypeError for others."""
    return _integer_division("floordiv", FloorDiv, a, b)


def floormod(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the remainder of :func:`floordiv`, with the sign of ``b``; raises DTypeError for others than integers."""
    return _integer_division("floormod", FloorMod, a, b)


def indexdiv(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the quotient of two indices: integers that are not negative; raises DTypeError for others."""
    return _integer_division("indexdiv", FloorDiv, a, b)


def indexmod(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the remainder of two indices: integers that are not negative; raises DTypeError for others."""
    return _integer_division("indexmod", FloorMod, a, b)


def ceildiv(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the quotient of two integers, rounded towards plus infinity; raises DTypeError for others."""
    divisor = convert(rhs)
    return floordiv(convert(lhs) + divisor - 1, divisor)


def _integer_division(name: str, kind: type[BinaryOp], a: ExprLike, b: ExprLike) -> PrimExpr:
    for operand in (convert(a), convert(b)):
        if operand.dtype.startswith(("float", "bfloat", "handle")):
            raise DTypeError(f"{name}: operands must be integers, got {operand.dtype} in {show(operand)}")
    return binary(kind, a, b)


def all(*args: ExprLike) -> PrimExpr:
    """Return whether all conditions, at least one, hold; raises DTypeError for what is not of type ``bool``."""
    return _logic("all", And, args)


def any(*args: ExprLike) -> PrimExpr:
    """Return whether one of the conditions, at least one, holds; raises DTypeError for what is not of type ``bool``."""
    return _logic("any", Or, args)


def _logic(name: str, kind: type[BinaryOp], args: tuple[ExprLike, ...]) -> PrimExpr:
    if not args:
        raise ArgumentError(f"{name}: expected at least one condition")
    conditions = [convert(a) for a in args]
    for condition in conditions:
        if not condition.dtype.startswith("bool"):
            raise DTypeError(f"{name}: conditions must be of type bool, got {condition.dtype} in {show(condition)}")
    result = conditions[0]
    for condition in conditions[1:]:
        result = binary(kind, result, condition)
    return result


def bitwise_and(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the bits set in both integers; raises DTypeError for others."""
    return bitwise("bitwise_and", x, y)


def bitwise_or(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the bits set in either integer; raises DTypeError for others."""
    return bitwise("bitwise_or", x, y)


def bitwise_xor(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the bits set in exactly one of two integers; raises DTypeError for others."""
    return bitwise("bitwise_xor", x, y)


def bitwise_not(x: ExprLike) -> PrimExpr:
    """Return an integer with all bits inverted; raises DTypeError for others."""
    return bitwise("bitwise_not", x)


def shift_left(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the integer ``x * 2 ** y``, ``y`` not negative; bits that do not fit into the type are lost."""
    return bitwise("shift_left", x, y)


def shift_right(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the integer ``x`` divided by ``2 ** y``, ``y`` not negative, rounded towards minus infinity."""
    return bitwise("shift_right", x, y)
