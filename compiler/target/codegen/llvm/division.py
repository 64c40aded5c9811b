"""Division of integers, which never traps, and the one rounded towards minus infinity, from LLVM's instructions.

LLVM's division has no value where the divisor is zero or the quotient does not fit, and x86 ends the process there.
Here a division by zero gives zero, as NumPy's does, and the quotient of the smallest integer by -1 wraps around.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from compiler.ir.primexpr import Broadcast, IntImm, PrimExpr
from compiler.target.codegen.llvm.types import constant


def power_of_two(e: PrimExpr) -> int | None:
    """Return k if ``e`` is the constant 2 ** k (in each lane)."""
    if isinstance(e, Broadcast):
        e = e.value
    if isinstance(e, IntImm) and e.value > 0 and e.value & (e.value - 1) == 0:
        return e.value.bit_length() - 1
    return None


def floor_shift(builder: ir.IRBuilder, a: ir.Value, shift: int) -> ir.Value:
    """Return ``a // 2 ** shift``."""
    return builder.ashr(a, constant(a.type, shift)) if shift else a


def floor_mask(builder: ir.IRBuilder, a: ir.Value, shift: int) -> ir.Value:
    """Return ``a % 2 ** shift``."""
    return builder.and_(a, constant(a.type, (1 << shift) - 1))


def trunc_div(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
    """Return the quotient of integers, rounded towards zero."""
    write = builder.sdiv if signed else builder.udiv
    if isinstance(b, ir.Constant) and not _is_constant(b, 0):
        return builder.neg(a) if signed and _is_constant(b, -1) else write(a, b)
    return _guarded(builder, write, a, b, signed)


def trunc_mod(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
    """Return the remainder of :func:`trunc_div`."""
    write = builder.srem if signed else builder.urem
    if isinstance(b, ir.Constant) and not _is_constant(b, 0):
        return constant(a.type, 0) if signed and _is_constant(b, -1) else write(a, b)
    return _guarded(builder, write, a, b, signed)


def _guarded(builder: ir.IRBuilder, write: Callable[..., ir.Value], a: ir.Value, b: ir.Value, signed: bool) -> ir.Value:
    """Divide by one instead of what traps: the remainder is then zero, and so is the quotient made where it must be."""
    zero, one = constant(b.type, 0), constant(b.type, 1)
    by_zero = builder.icmp_unsigned("==", b, zero)
    traps = builder.or_(by_zero, _overflows(builder, a, b)) if signed else by_zero
    return builder.select(by_zero, zero, write(a, builder.select(traps, one, b)))


def _overflows(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Return whether the quotient of signed integers does not fit: that of the smallest one by -1."""
    scalar = a.type.element if isinstance(a.type, ir.VectorType) else a.type
    smallest = constant(a.type, -(1 << (scalar.width - 1)))
    return builder.and_(builder.icmp_signed("==", a, smallest), builder.icmp_signed("==", b, constant(b.type, -1)))


def _is_constant(value: ir.Constant, number: int) -> bool:
    return str(value) == str(constant(value.type, number))


def floor_div(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Return ``a // b`` of signed integers."""
    quotient = trunc_div(builder, a, b, signed=True)
    below = _rounds_down(builder, builder.sub(a, builder.mul(quotient, b)), b)
    return builder.add(quotient, builder.sext(below, quotient.type))


def floor_mod(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Return ``a % b`` of signed integers; it has the sign of ``b``."""
    rest = trunc_mod(builder, a, b, signed=True)
    return builder.select(_rounds_down(builder, rest, b), builder.add(rest, b), rest)


def _rounds_down(builder: ir.IRBuilder, rest: ir.Value, divisor: ir.Value) -> ir.Value:
    """Return whether division rounded towards zero is one above the floor."""
    zero = constant(rest.type, 0)
    uneven = builder.icmp_signed("!=", rest, zero)
    return builder.and_(uneven, builder.icmp_signed("<", builder.xor(rest, divisor), zero))
