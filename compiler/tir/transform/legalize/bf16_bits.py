"""bfloat16 as bits: the upper half of a float32."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import NE, Let, PrimExpr, Select, Var, cast
from compiler.tir.expressions.arithmetic import bitwise_and, bitwise_or, shift_left, shift_right
from compiler.tir.expressions.builtin import reinterpret

BITS = "uint16"
"""The type of an upper half."""


def single_of_bits(bits: PrimExpr) -> PrimExpr:
    """Return the number whose upper half the bits are."""
    count = dt.lanes(bits.dtype)
    wide = dt.with_lanes("uint32", count)
    return reinterpret(dt.with_lanes("float32", count), shift_left(cast(wide, bits), cast(wide, 16)))


def bits_of_single(value: PrimExpr) -> PrimExpr:
    """Return the upper half of a number, rounded to nearest, ties to even; what is not a number becomes a quiet NaN."""
    count = dt.lanes(value.dtype)
    wide = dt.with_lanes("uint32", count)
    bits = Var("bits", wide)
    rounding = bitwise_and(shift_right(bits, cast(wide, 16)), cast(wide, 1)) + cast(wide, 0x7FFF)
    rounded = shift_right(bits + rounding, cast(wide, 16))
    # The bits that tell a NaN from an infinity may all be in the lower half, and rounding may carry into the sign.
    quiet = bitwise_or(shift_right(bits, cast(wide, 16)), cast(wide, 0x40))
    single = reinterpret(dt.with_lanes("float32", count), bits)
    half = cast(dt.with_lanes(BITS, count), Select(NE(single, single), quiet, rounded))
    return Let(bits, reinterpret(wide, value), half)
