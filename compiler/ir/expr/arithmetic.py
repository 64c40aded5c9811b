"""Construction of arithmetic: unifies operand types, folds constants and drops neutral elements."""

from __future__ import annotations

import functools

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr.coercion import cast, const, convert, match_types, wrap_int
from compiler.ir.expr.lanes import VSCALE
from compiler.ir.expr.operations import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    Call,
    CmpOp,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Sub,
)
from compiler.ir.expr.operators import ExprLike, ExprOperators, leaves_arithmetic_to, register_operator
from compiler.ir.expr.scalars import FloatImm, IntImm, PrimExpr
from compiler.ir.op import register_op

__all__ = ["binary", "bitwise", "fold", "of_truth_values"]


def _is_expr_like(value: object) -> bool:
    return isinstance(value, (ExprOperators, bool, int, float, np.generic)) or hasattr(value, "asobject")


def binary(kind: type[BinaryOp], a: ExprLike, b: ExprLike) -> PrimExpr:
    """Build ``kind(a, b)`` with types matched, constants folded and neutral elements dropped.

    Raises DTypeError if the operands have no common type, or one that does not have the operation. Raises ArgumentError
    if the divisor is zero.
    """
    x, y = match_types(a, b, kind.__name__)
    if kind in _DIVISIONS:
        _check_division(kind, x, y)
    if isinstance(x, _CONSTANTS) and isinstance(y, _CONSTANTS):
        is_index = x.dtype in ("int32", "int64")  # TVM folds remainders of no other type
        folded = _wrapped(kind, x, y) if is_index or kind not in (Mod, FloorMod) else None
        if folded is not None:
            return folded
    neutral = _neutral(kind, x, y)
    if neutral is None and kind in _BOOLEAN and dt.is_bool(x.dtype):
        return binary(_BOOLEAN[kind], x, y)
    return kind(x, y) if neutral is None else neutral


def _check_division(kind: type[BinaryOp], x: PrimExpr, y: PrimExpr) -> None:
    if not dt.is_integral(x.dtype):
        if kind in (FloorDiv, FloorMod):
            where = f"{show(x)} {kind.symbol} {show(y)}"
            raise DTypeError(f"{kind.__name__}: operands must be integers, got {x.dtype} in {where}")
    elif isinstance(y, IntImm) and y.value == 0:
        raise ArgumentError(f"{kind.__name__}: division by zero in {show(x)} {kind.symbol} 0")


def _wrapped(kind: type[BinaryOp], x: IntImm | FloatImm, y: IntImm | FloatImm) -> IntImm | FloatImm | None:
    """Evaluate an operation on two constants as a processor does, which keeps the low bits of what is too large."""
    folded = fold(kind, x, y)
    if folded is not None or isinstance(x, FloatImm) or isinstance(y, FloatImm):
        return folded
    return IntImm(x.dtype, wrap_int(kind.evaluate(x.value, y.value), x.dtype))


LEFT_TO_OTHER: PrimExpr = NotImplemented
"""What an operator returns for Python to ask the other operand."""


def _arithmetic(kind: type[BinaryOp], a: ExprLike, b: ExprLike) -> PrimExpr:
    if leaves_arithmetic_to(b):
        return LEFT_TO_OTHER
    if (
        kind is Sub
        and isinstance(a, IntImm)
        and isinstance(b, IntImm)
        and dt.is_uint(a.dtype)
        and a.value == 0 < b.value
    ):
        raise ArgumentError(f"Sub: {show(a)} - {show(b)} is the negative of a number without a sign")
    return binary(kind, a, b)


def _compare(kind: type[BinaryOp], a: ExprLike, b: object) -> PrimExpr:
    """Build ``a == b`` or ``a != b``; what has no common type is compared by identity, as ``in`` and ``dict`` need."""
    if not _is_expr_like(b):
        if isinstance(a, IntImm) and isinstance(b, str):  # a constant is compared at once, and this has no answer
            raise DTypeError(f"{kind.__name__}: no common type for {a.dtype} {show(a)} and the text {show(b)}")
        return LEFT_TO_OTHER
    try:
        return binary(kind, a, b)
    except DTypeError:
        return LEFT_TO_OTHER


def fold(kind: type[BinaryOp], x: IntImm | FloatImm, y: IntImm | FloatImm) -> IntImm | FloatImm | None:
    """Evaluate an operation on two constants; None if the divisor is zero, or an index type would overflow.

    Integers of other types wrap around.
    """
    if kind in _DIVISIONS and y.value == 0:
        return None
    if isinstance(x, FloatImm):
        return _folded_floats(kind, x, y)
    value = kind.evaluate(x.value, y.value)
    if issubclass(kind, CmpOp):
        return IntImm("bool", int(bool(value)))
    if x.dtype == "bool":
        return IntImm("bool", int(value != 0))
    low, high = dt.int_range(x.dtype)
    if low <= value <= high:
        return IntImm(x.dtype, value)
    return None if x.dtype in ("int32", "int64") else IntImm(x.dtype, low + (value - low) % (high - low + 1))


def _folded_floats(kind: type[BinaryOp], x: FloatImm, y: IntImm | FloatImm) -> IntImm | FloatImm | None:
    """Evaluate an operation on two constants as the processor does, which has rounded them to their type."""
    if x.dtype not in ("float16", "float32", "float64"):
        return IntImm("bool", int(bool(kind.evaluate(x.value, y.value)))) if issubclass(kind, CmpOp) else None
    rounded = np.dtype(x.dtype).type
    with np.errstate(all="ignore"):
        value = kind.evaluate(rounded(x.value), rounded(y.value))
        return IntImm("bool", int(bool(value))) if issubclass(kind, CmpOp) else FloatImm(x.dtype, float(rounded(value)))


_BOOLEAN: dict[type[BinaryOp], type[BinaryOp]] = {Add: Or, Sub: NE, Mul: And, Max: Or, Min: And}
"""Arithmetic on truth values: the numbers 0 and 1 are computed with, and what is not 0 is true, as a cast has it."""


def of_truth_values(n: BinaryOp) -> PrimExpr | None:
    """Return arithmetic on truth values as logic: ``a + b`` is ``a or b``, ``a - b`` is ``a != b``.

    None if the operands are no truth values, or it is logic, a comparison or a division, which are as they are.
    """
    kind = _BOOLEAN.get(type(n)) if dt.is_bool(n.dtype) else None
    return None if kind is None else kind(n.a, n.b)


_BITWISE = {
    name: register_op("tir." + name, reference=reference, doc=doc)
    for name, reference, doc in (
        ("bitwise_and", np.bitwise_and, "Bits set in both operands."),
        ("bitwise_or", np.bitwise_or, "Bits set in either operand."),
        ("bitwise_xor", np.bitwise_xor, "Bits set in exactly one operand."),
        ("bitwise_not", np.bitwise_not, "All bits turned over."),
        ("shift_left", np.left_shift, "Bits moved towards the high end, zeros moved in."),
        ("shift_right", np.right_shift, "Bits moved towards the low end, the sign moved in where there is one."),
    )
}


def bitwise(name: str, *operands: ExprLike) -> PrimExpr:
    """Build a call of a bitwise operator on integers of one data type; constants are folded, shifts by zero dropped.

    Raises DTypeError if an operand is not integral. Raises ArgumentError if a constant shift is negative or not smaller
    than the number of bits.
    """
    if len(operands) == 2:
        a, b = operands
        values: tuple[PrimExpr, ...] = match_types(_like(a, b), _like(b, a), name)
    else:
        values = (convert(operands[0]),)
    dtype = values[0].dtype
    if not dt.is_integral(dtype):
        raise DTypeError(f"{name}: operands must be integers, got {dtype} in {show(values[0])}")
    last = values[-1]
    if name.startswith("shift") and dt.is_bool(dtype):  # of 0 and 1: shifted to the left, 1 is not 0
        return values[0] if name == "shift_left" else binary(And, values[0], Not(last))
    if name.startswith("shift") and isinstance(last, IntImm) and not 0 <= last.value < dt.bits(dtype):
        raise ArgumentError(f"{name}: the shift must be from 0 to {dt.bits(dtype) - 1} for {dtype}, got {last.value}")
    op = _BITWISE[name]
    if all(isinstance(v, IntImm) for v in values) and op.reference is not None:
        numbers = [np.dtype(dtype).type(v.value) for v in values if isinstance(v, IntImm)]
        return IntImm(dtype, wrap_int(int(op.reference(*numbers)), dtype))
    if name.startswith("shift") and isinstance(last, IntImm) and last.value == 0:
        return values[0]
    return Call(dtype, op, values)


def _like(value: ExprLike, other: ExprLike) -> ExprLike:
    """Return a Python int as a constant of the other operand's type: bits keep the width of what they are in."""
    if type(value) is not int or isinstance(other, (bool, int, float)):
        return value
    e = convert(other)
    return const(value, e.dtype) if dt.is_integral(e.dtype) else value


_CONSTANTS = (IntImm, FloatImm)
_DIVISIONS = (Div, Mod, FloorDiv, FloorMod)


def _neutral(kind: type[BinaryOp], x: PrimExpr, y: PrimExpr) -> PrimExpr | None:
    """Return what is left of an operation with a neutral or absorbing constant, or None.

    Zero is neutral in sums of floating-point numbers too, although ``-0.0 + 0.0`` is ``0.0``; it absorbs integers only,
    for its product with an infinity is not a number.
    """
    if isinstance(y, _CONSTANTS):
        integer = isinstance(y, IntImm)
        if y.value == 0 and kind in (Add, Sub):
            return x
        if y.value == 1 and (kind is Mul or (kind in (Div, FloorDiv))):
            return x
        if integer and ((y.value == 0 and kind is Mul) or (y.value == 1 and kind in (Mod, FloorMod))):
            return IntImm(x.dtype, 0)
    if isinstance(x, _CONSTANTS):
        if x.value == 0 and kind is Add:
            return y
        if x.value == 1 and kind is Mul:
            return y
        if x.value == 0 and kind in (Mul, *_DIVISIONS) and isinstance(x, IntImm):
            return IntImm(x.dtype, 0)
    if kind in (Min, Max) and x is y:
        return x
    if kind in (And, Or):
        neutral = _neutral_logic(kind, x, y)
        return _neutral_logic(kind, y, x) if neutral is None else neutral
    if kind is EQ and all(isinstance(e, Call) and e.op is VSCALE for e in (x, y)):
        return IntImm("bool", 1)  # one number for the whole program
    return None


def _neutral_logic(kind: type[BinaryOp], x: PrimExpr, y: PrimExpr) -> PrimExpr | None:
    if isinstance(x, IntImm):
        return y if bool(x.value) == (kind is And) else x
    return None


def _true_divide(a: ExprLike, b: ExprLike) -> PrimExpr:
    if leaves_arithmetic_to(b):
        return LEFT_TO_OTHER
    x, y = match_types(a, b, "/")
    if dt.is_integral(x.dtype):
        raise DTypeError(
            f"/: integer division is ambiguous; use // (floordiv), tvm.tir.truncdiv or a cast, "
            f"got {show(x)} / {show(y)}"
        )
    if isinstance(x, FloatImm) and isinstance(y, FloatImm) and y.value == 0:
        raise ArgumentError(f"/: division by zero in {show(x)} / {show(y)}")
    return binary(Div, x, y)


def _negative(value: ExprLike) -> PrimExpr:
    e = convert(value)
    if dt.is_uint(e.dtype):
        return binary(Sub, const(0, e.dtype), e)
    return binary(Mul, e, const(-1, e.dtype))  # 0 - x would lose the sign of zero


_ARITHMETIC = {"add": Add, "sub": Sub, "mul": Mul}
_OPERATORS = {
    "floordiv": FloorDiv, "mod": FloorMod,
    "lt": LT, "le": LE, "gt": GT, "ge": GE, "equal": EQ,
}  # fmt: skip
_BITWISE_OPERATORS = {
    "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor", "invert": "bitwise_not",
    "lshift": "shift_left", "rshift": "shift_right",
}  # fmt: skip

for _name, _kind in _ARITHMETIC.items():
    register_operator(_name, functools.partial(_arithmetic, _kind))
for _name, _kind in _OPERATORS.items():
    register_operator(_name, functools.partial(binary, _kind))
for _name, _bits in _BITWISE_OPERATORS.items():
    register_operator(_name, functools.partial(bitwise, _bits))
register_operator("truediv", _true_divide)
register_operator("neg", _negative)
register_operator("eq", functools.partial(_compare, EQ))
register_operator("ne", functools.partial(_compare, NE))
register_operator("astype", cast)
register_operator("vscale", lambda: Call("int32", VSCALE, ()))
