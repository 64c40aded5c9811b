"""bfloat16 as bits: the upper half of a float32."""

from __future__ import annotations

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import NE, Broadcast, Call, Cast, FloatImm, Let, Max, Min, PrimExpr, Select, Var, cast
from compiler.ir.op import Op
from compiler.tir.expressions.arithmetic import bitwise_and, bitwise_or, shift_left, shift_right
from compiler.tir.expressions.builtin import reinterpret

BITS = "uint16"
"""The type of an upper half."""
_CHOICES = frozenset(Op.get(f"tir.{name}") for name in ("fmaximum", "fminimum"))


def single_of_bits(bits: PrimExpr) -> PrimExpr:
    """Return the number whose upper half the bits are."""
    count = dt.lanes(bits.dtype)
    wide = dt.with_lanes("uint32", count)
    return reinterpret(dt.with_lanes("float32", count), shift_left(cast(wide, bits), cast(wide, 16)))


def bits_of_single(value: PrimExpr) -> PrimExpr:
    """Return the upper half of a number, rounded to nearest, ties to even; what is not a number becomes a quiet NaN."""
    bits, rounded = _rounded(value)
    return Let(bits, reinterpret(bits.dtype, value), _upper_half(rounded))


def rounded_single(value: PrimExpr) -> PrimExpr:
    """Return a number whose lower half is zero, rounded likewise."""
    bits, rounded = _rounded(value)
    upper = bitwise_and(rounded, cast(bits.dtype, 0xFFFF0000))
    return Let(bits, reinterpret(bits.dtype, value), reinterpret(value.dtype, upper))


def bits_of_exact(value: PrimExpr) -> PrimExpr:
    """Return the upper half of a number whose lower half is zero."""
    return _upper_half(reinterpret(dt.with_lanes("uint32", dt.lanes(value.dtype)), value))


def is_exact(e: PrimExpr) -> bool:
    """Return whether a number in single precision is known to be one of bfloat16: converted, or one of several."""
    if isinstance(e, Cast):
        return dt.element(e.value.dtype) == "bfloat16"
    if isinstance(e, FloatImm):
        return not int(np.float32(e.value).view(np.uint32)) & 0xFFFF
    if isinstance(e, Broadcast):
        return is_exact(e.value)
    if isinstance(e, Select):
        return is_exact(e.true_value) and is_exact(e.false_value)
    if isinstance(e, (Max, Min)):
        return is_exact(e.a) and is_exact(e.b)
    return isinstance(e, Call) and e.op in _CHOICES and all(map(is_exact, e.args))


def _rounded(value: PrimExpr) -> tuple[Var, PrimExpr]:
    """Return a variable for the bits of a number, and from it the bits of which the upper half is the rounded one."""
    count = dt.lanes(value.dtype)
    wide = dt.with_lanes("uint32", count)
    bits = Var("bits", wide)
    rounding = bitwise_and(shift_right(bits, cast(wide, 16)), cast(wide, 1)) + cast(wide, 0x7FFF)
    # The bits that tell a NaN from an infinity may all be in the lower half, and rounding may carry into the sign.
    quiet = bitwise_or(bits, cast(wide, 0x400000))
    single = reinterpret(dt.with_lanes("float32", count), bits)
    return bits, Select(NE(single, single), quiet, bits + rounding)


def _upper_half(bits: PrimExpr) -> PrimExpr:
    return cast(dt.with_lanes(BITS, dt.lanes(bits.dtype)), shift_right(bits, cast(bits.dtype, 16)))
