"""Division rounded towards minus infinity, from LLVM's division rounded towards zero."""

from __future__ import annotations

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


def floor_div(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Return ``a // b`` of signed integers."""
    quotient = builder.sdiv(a, b)
    below = _rounds_down(builder, builder.sub(a, builder.mul(quotient, b)), b)
    return builder.add(quotient, builder.sext(below, quotient.type))


def floor_mod(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """Return ``a % b`` of signed integers; it has the sign of ``b``."""
    rest = builder.srem(a, b)
    return builder.select(_rounds_down(builder, rest, b), builder.add(rest, b), rest)


def _rounds_down(builder: ir.IRBuilder, rest: ir.Value, divisor: ir.Value) -> ir.Value:
    """Return whether division rounded towards zero is one above the floor."""
    zero = constant(rest.type, 0)
    uneven = builder.icmp_signed("!=", rest, zero)
    return builder.and_(uneven, builder.icmp_signed("<", builder.xor(rest, divisor), zero))
