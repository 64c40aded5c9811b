"""Builders of expressions under TVM's names: arithmetic and logic, and all of ``math``, ``builtin`` and ``reducer``."""

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
    const,
    convert,
)
from compiler.tir.builtin import (
    address_of,
    assume,
    call_extern,
    call_intrin,
    call_llvm_intrin,
    call_llvm_pure_intrin,
    call_packed,
    call_pure_extern,
    clz,
    if_then_else,
    isnullptr,
    likely,
    popcount,
    reinterpret,
    ret,
    tvm_access_ptr,
    tvm_tuple,
    type_annotation,
    undef,
    vectorcombine,
    vectorhigh,
    vectorlow,
)
from compiler.tir.math import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    copysign,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    exp10,
    fabs,
    floor,
    fma,
    fmod,
    hypot,
    isfinite,
    isinf,
    isnan,
    ldexp,
    log,
    log1p,
    log2,
    log10,
    nearbyint,
    nextafter,
    pow,
    power,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from compiler.tir.reducer import comm_reducer, infinity, max, max_value, min, min_value, prod, sum

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "address_of",
    "all",
    "any",
    "asin",
    "asinh",
    "assume",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "call_extern",
    "call_intrin",
    "call_llvm_intrin",
    "call_llvm_pure_intrin",
    "call_packed",
    "call_pure_extern",
    "ceil",
    "ceildiv",
    "clz",
    "comm_reducer",
    "const",
    "copysign",
    "cos",
    "cosh",
    "div",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "fabs",
    "floor",
    "floordiv",
    "floormod",
    "fma",
    "fmod",
    "hypot",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "isnullptr",
    "ldexp",
    "likely",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "max_value",
    "min",
    "min_value",
    "multiply",
    "nearbyint",
    "nextafter",
    "popcount",
    "pow",
    "power",
    "prod",
    "reinterpret",
    "ret",
    "round",
    "rsqrt",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
    "tvm_access_ptr",
    "tvm_tuple",
    "type_annotation",
    "undef",
    "vectorcombine",
    "vectorhigh",
    "vectorlow",
]


def add(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return ``lhs + rhs``."""
    return binary(Add, lhs, rhs)


def subtract(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return ``lhs - rhs``."""
    return binary(Sub, lhs, rhs)


def multiply(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return ``lhs * rhs``."""
    return binary(Mul, lhs, rhs)


def div(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return ``a / b``; integers round towards zero, as in C."""
    return binary(Div, a, b)


def truncdiv(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the integer quotient rounded towards zero, as in C."""
    return _integer_division("truncdiv", Div, a, b)


def truncmod(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the remainder of :func:`truncdiv`; it has the sign of ``a``."""
    return _integer_division("truncmod", Mod, a, b)


def floordiv(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the integer quotient rounded towards minus infinity, as Python's ``//``."""
    return _integer_division("floordiv", FloorDiv, a, b)


def floormod(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the remainder of :func:`floordiv`, as Python's ``%``; it has the sign of ``b``."""
    return _integer_division("floormod", FloorMod, a, b)


def indexdiv(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the quotient of two indices that are not negative."""
    return _integer_division("indexdiv", FloorDiv, a, b)


def indexmod(a: ExprLike, b: ExprLike) -> PrimExpr:
    """Return the remainder of two indices that are not negative."""
    return _integer_division("indexmod", FloorMod, a, b)


def ceildiv(lhs: ExprLike, rhs: ExprLike) -> PrimExpr:
    """Return the integer quotient rounded towards plus infinity."""
    divisor = convert(rhs)
    return floordiv(convert(lhs) + (divisor - 1), divisor)


def _integer_division(name: str, kind: type[BinaryOp], a: ExprLike, b: ExprLike) -> PrimExpr:
    for operand in (convert(a), convert(b)):
        if operand.dtype.startswith(("float", "bfloat", "handle")):
            raise DTypeError(f"{name}: operands must be integers, got {operand.dtype} in {show(operand)}")
    return binary(kind, a, b)


def all(*args: ExprLike) -> PrimExpr:
    """Return whether all conditions hold."""
    return _logic("all", And, args)


def any(*args: ExprLike) -> PrimExpr:
    """Return whether at least one condition holds."""
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
    """Return the bits set in both integers."""
    return bitwise("bitwise_and", x, y)


def bitwise_or(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the bits set in either integer."""
    return bitwise("bitwise_or", x, y)


def bitwise_xor(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return the bits set in exactly one of two integers."""
    return bitwise("bitwise_xor", x, y)


def bitwise_not(x: ExprLike) -> PrimExpr:
    """Return an integer with all bits turned over."""
    return bitwise("bitwise_not", x)


def shift_left(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return ``x * 2 ** y``, what does not fit lost."""
    return bitwise("shift_left", x, y)


def shift_right(x: ExprLike, y: ExprLike) -> PrimExpr:
    """Return ``x`` divided by ``2 ** y``, rounded towards minus infinity."""
    return bitwise("shift_right", x, y)
