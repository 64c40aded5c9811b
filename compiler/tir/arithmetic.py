"""Builders of arithmetic, logical and bitwise expressions under TVM's names."""

from __future__ import annotations

from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.primexpr import (
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

__all__ = [
    "add",
    "all",
    "any",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceildiv",
    "div",
    "floordiv",
    "floormod",
    "indexdiv",
    "indexmod",
    "multiply",
    "shift_left",
    "shift_right",
    "subtract",
    "truncdiv",
    "truncmod",
]


def add(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return ``lhs + rhs``.

    Parameters
    ----------
    lhs, rhs : PrimExpr
        Numbers, or vectors of them, brought to one type.
    """
    return binary(Add, lhs, rhs)


def subtract(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return ``lhs - rhs``.

    Parameters
    ----------
    lhs, rhs : PrimExpr
        Numbers, or vectors of them, brought to one type.
    """
    return binary(Sub, lhs, rhs)


def multiply(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return ``lhs * rhs``.

    Parameters
    ----------
    lhs, rhs : PrimExpr
        Numbers, or vectors of them, brought to one type.
    """
    return binary(Mul, lhs, rhs)


def div(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return ``a / b``; integers round towards zero, as in C.

    Parameters
    ----------
    a, b : PrimExpr
        Numbers, or vectors of them, brought to one type.
    """
    return binary(Div, a, b)


def truncdiv(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the integer quotient rounded towards zero, as in C.

    Raises DTypeError if an operand is not an integer.
    """
    return _integer_division("truncdiv", Div, a, b)


def truncmod(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the remainder of :func:`truncdiv`; it has the sign of ``a``.

    Raises DTypeError if an operand is not an integer.
    """
    return _integer_division("truncmod", Mod, a, b)


def floordiv(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the integer quotient rounded towards minus infinity, as Python's ``//``.

    Raises DTypeError if an operand is not an integer.
    """
    return _integer_division("floordiv", FloorDiv, a, b)


def floormod(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the remainder of :func:`floordiv`, as Python's ``%``; it has the sign of ``b``.

    Raises DTypeError if an operand is not an integer.
    """
    return _integer_division("floormod", FloorMod, a, b)


def indexdiv(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the quotient of two indices.

    Raises DTypeError if an operand is not an integer.

    Parameters
    ----------
    a, b : PrimExpr
        Integers that are not negative, brought to one type.
    """
    return _integer_division("indexdiv", FloorDiv, a, b)


def indexmod(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the remainder of two indices.

    Raises DTypeError if an operand is not an integer.

    Parameters
    ----------
    a, b : PrimExpr
        Integers that are not negative, brought to one type.
    """
    return _integer_division("indexmod", FloorMod, a, b)


def ceildiv(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the integer quotient rounded towards plus infinity.

    Raises DTypeError if an operand is not an integer.
    """
    divisor = convert(rhs)
    return floordiv(convert(lhs) + divisor - 1, divisor)


def _integer_division(name: str, kind: type[BinaryOp], a: ExprLike, b: ExprLike) -> PrimExpr:
    for operand in (convert(a), convert(b)):
        if operand.dtype.startswith(("float", "bfloat", "handle")):
            raise DTypeError(f"{name}: operands must be integers, got {operand.dtype} in {show(operand)}")
    return binary(kind, a, b)


def all(*args: ExprLike) -> PrimExpr:
    """Return whether all conditions hold.

    Raises DTypeError if an operand is not of type ``bool``.

    Parameters
    ----------
    *args : PrimExpr
        Conditions of type ``bool``, at least one.
    """
    return _logic("all", And, args)


def any(*args: ExprLike) -> PrimExpr:
    """Return whether at least one condition holds.

    Raises DTypeError if an operand is not of type ``bool``.

    Parameters
    ----------
    *args : PrimExpr
        Conditions of type ``bool``, at least one.
    """
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
    """Return the bits set in both integers.

    Raises DTypeError if an operand is not an integer.
    """
    return bitwise("bitwise_and", x, y)


def bitwise_or(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the bits set in either integer.

    Raises DTypeError if an operand is not an integer.
    """
    return bitwise("bitwise_or", x, y)


def bitwise_xor(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the bits set in exactly one of two integers.

    Raises DTypeError if an operand is not an integer.
    """
    return bitwise("bitwise_xor", x, y)


def bitwise_not(x: ExprLike) -> PrimExpr:
    """Return an integer with all bits inverted.

    Raises DTypeError if an operand is not an integer.
    """
    return bitwise("bitwise_not", x)


def shift_left(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return ``x * 2 ** y``; bits that do not fit into the type are lost.

    Raises DTypeError if an operand is not an integer.

    Parameters
    ----------
    x, y : PrimExpr
        Integers, brought to one type; ``y`` is not negative.
    """
    return bitwise("shift_left", x, y)


def shift_right(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return ``x`` divided by ``2 ** y``, rounded towards minus infinity.

    Raises DTypeError if an operand is not an integer.

    Parameters
    ----------
    x, y : PrimExpr
        Integers, brought to one type; ``y`` is not negative.
    """
    return bitwise("shift_right", x, y)
