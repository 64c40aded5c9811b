"""Integer division that never traps: truncating and flooring.

LLVM's division is undefined for a zero divisor or an overflowing quotient, and traps on x86.  Here, division by zero
yields zero, as in NumPy, and the quotient of the smallest integer by -1 wraps around.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from compiler.ir.expr.coercion import power_of_two
from compiler.ir.expr.primexpr import FloorDiv, FloorMod, PrimExpr
from compiler.target.codegen.llvm.types import constant


def trunc_div(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
    """Return the quotient of integers, truncated towards zero."""
    divisor, by_zero = _divisor(builder, a, b, signed)
    quotient = builder.sdiv(a, divisor) if signed else builder.udiv(a, divisor)
    return quotient if by_zero is None else builder.select(by_zero, constant(a.type, 0), quotient)


def trunc_mod(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
    """Return the remainder of :func:`trunc_div`."""
    divisor, _ = _divisor(builder, a, b, signed)
    return builder.srem(a, divisor) if signed else builder.urem(a, divisor)


def _divisor(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, signed: bool) -> tuple[ir.Value, ir.Value | None]:
    """Return a divisor that is 1 where division would trap, and a condition for ``b == 0``, None if that is impossible.

    Division by 1 gives the intended results: a remainder of zero, and the smallest integer itself as the quotient.
    """
    if isinstance(b, ir.Constant) and not any(_is_constant(b, number) for number in (0, -1)):
        return b, None
    by_zero = builder.icmp_unsigned("==", b, constant(b.type, 0))
    traps = builder.or_(by_zero, _overflows(builder, a, b)) if signed else by_zero
    return builder.select(traps, constant(b.type, 1), b), by_zero


def _overflows(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Return a condition for overflow: the smallest signed integer divided by -1."""
    scalar = a.type.element if isinstance(a.type, ir.VectorType) else a.type
    smallest = constant(a.type, -(1 << (scalar.width - 1)))
    return builder.and_(builder.icmp_signed("==", a, smallest), builder.icmp_signed("==", b, constant(b.type, -1)))


def _is_constant(value: ir.Constant, number: int) -> bool:
    return str(value) == str(constant(value.type, number))


def floor_div(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Return the floor division of signed integers."""
    divisor, by_zero = _divisor(builder, a, b, signed=True)
    quotient = builder.sdiv(a, divisor)
    below = _rounds_down(builder, builder.srem(a, divisor), divisor)  # LLVM knows the sign of a remainder
    floor = builder.add(quotient, builder.sext(below, quotient.type))
    return floor if by_zero is None else builder.select(by_zero, constant(a.type, 0), floor)


def floor_mod(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Return the remainder of floor division of signed integers; it has the sign of ``b``."""
    rest = trunc_mod(builder, a, b, signed=True)
    return builder.select(_rounds_down(builder, rest, b), builder.add(rest, b), rest)


def floor_division(builder: ir.IRBuilder, n: FloorDiv | FloorMod, value: Callable[[PrimExpr], ir.Value]) -> ir.Value:
    """Return the floor division of signed integers, or its remainder: a shift or a mask by a power of two."""
    is_quotient, shift, a = isinstance(n, FloorDiv), power_of_two(n.b), value(n.a)
    if shift is None:
        return (floor_div if is_quotient else floor_mod)(builder, a, value(n.b))
    if is_quotient:
        return builder.ashr(a, constant(a.type, shift)) if shift else a
    return builder.and_(a, constant(a.type, (1 << shift) - 1))


def _rounds_down(builder: ir.IRBuilder, rest: ir.Value, divisor: ir.Value) -> ir.Value:
    """Return a condition for a truncated quotient that exceeds the floor."""
    zero = constant(rest.type, 0)
    uneven = builder.icmp_signed("!=", rest, zero)
    return builder.and_(uneven, builder.icmp_signed("<", builder.xor(rest, divisor), zero))
