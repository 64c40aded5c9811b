"""Legalises 8-bit floating-point types on processors without them."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Select, cast, const
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.tir.expressions.arithmetic import bitwise_and, bitwise_or, shift_left, shift_right
from compiler.tir.expressions.builtin import reinterpret
from compiler.tir.expressions.op import min as minimum
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.legalize.bf16_compute_legalize import ComputeLegalizer, pointers_to_bits
from compiler.tir.transform.legalize.bf16_storage_legalize import StorageLegalizer, lowered_types
from compiler.tir.transform.pass_base import FunctionRewrite

E4M3, E5M2 = "e4m3_float8", "e5m2_float8"
FP8 = frozenset({E4M3, E5M2})
_WIDE = ("float16", "float32")
_BITS = "uint8"
_SIGN, _MAGNITUDE = 0x80, 0x7F
_E4M3_SCALE, _E4M3_SHIFT = 120, 20
_E5M2_SCALE, _E5M2_SHIFT = 112, 21
_INFINITY, _NAN = 0x7C, 0x7E
"""Of E5M2; E4M3 has no infinities and one magnitude, 0x7F, that is not a number."""


class FP8ComputeLegalize(FunctionRewrite):
    """Compute with numbers of eight bits in a wider type, and round only what is stored in memory of the caller.

    For example::

        B = T.allocate([8], "e4m3_float8")          B = T.allocate([8], "float32")
        B_1[i] = A[i] + A[i]                 →      B_1[i] = float32(A[i]) + float32(A[i])
        C[i] = T.exp(B_1[i])                        C[i] = e4m3_float8(T.exp(B_1[i]))

    The wider type, ``promote_dtype_str``, is ``float16`` or ``float32``.
    """

    promote_dtype_str: str = "float32"

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        """Return a function that computes in the wide type.

        Raises ArgumentError if the wide type is neither float16 nor float32.
        """
        if self.promote_dtype_str not in _WIDE:
            kind = show(self.promote_dtype_str)
            raise ArgumentError(f"FP8ComputeLegalize: promote_dtype_str must be float16 or float32, got {kind}")
        legalize = ComputeLegalizer(pointers_to_bits(func))
        legalize.narrow, legalize.wide = FP8, self.promote_dtype_str
        return func.with_body(legalize.visit(func.body))


class FP8StorageLegalize(FunctionRewrite):
    """Store numbers of eight bits as uint8, and convert them by integer arithmetic.

    What computes does so in a wider type already, after ``FP8ComputeLegalize``::

        C[i] = float32(A[i])     →     C[i] = T.Cast("float32", T.reinterpret("float16", uint16(A[i]) << 8))

    The buffers of the parameters become uint8 as well.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return lowered_types(func, _StorageLegalizer())


class _StorageLegalizer(StorageLegalizer):
    narrow = FP8
    bits = _BITS

    def constant(self, value: float, dtype: str) -> IntImm:
        return IntImm(_BITS, int(numpy_dtype(dtype).type(value).view("uint8")))

    def decoded(self, bits: PrimExpr, dtype: str) -> PrimExpr:
        count = dt.lanes(dtype)
        return _from_e4m3(bits, count) if dt.element(dtype) == E4M3 else _from_e5m2(bits, count)

    def encoded(self, value: PrimExpr, dtype: str) -> PrimExpr:
        count = dt.lanes(dtype)
        if dt.element(dtype) == E4M3:
            magnitude = _rounded(value, count, _E4M3_SCALE, _E4M3_SHIFT)
            magnitude = minimum(magnitude, _word(_MAGNITUDE, count))
        else:
            magnitude = minimum(_rounded(value, count, _E5M2_SCALE, _E5M2_SHIFT), _word(_INFINITY, count))
            magnitude = Select(value.equal(value), magnitude, _word(_NAN, count))
        sign = bitwise_and(shift_right(_as_word(value, count), _word(24, count)), _word(_SIGN, count))
        return cast(dt.with_lanes(_BITS, count), bitwise_or(sign, magnitude))


def _word(value: int, count: int) -> PrimExpr:
    return const(value, dt.with_lanes("uint32", count))


def _as_word(value: PrimExpr, count: int) -> PrimExpr:
    return reinterpret(dt.with_lanes("uint32", count), value)


def _from_e5m2(bits: PrimExpr, count: int) -> PrimExpr:
    """Return the number that is the upper half of one of half precision."""
    half = dt.with_lanes("uint16", count)
    wide = shift_left(cast(half, bits), const(8, half))
    return cast(dt.with_lanes("float32", count), reinterpret(dt.with_lanes("float16", count), wide))


def _from_e4m3(bits: PrimExpr, count: int) -> PrimExpr:
    """Return a number by its exponent and mantissa in place, scaled by the difference of the biases: exact."""
    single = dt.with_lanes("float32", count)
    word = cast(dt.with_lanes("uint32", count), bits)
    magnitude = bitwise_and(word, _word(_MAGNITUDE, count))
    placed = reinterpret(single, shift_left(magnitude, _word(_E4M3_SHIFT, count)))
    number = _as_word(placed * const(2.0**_E4M3_SCALE, single), count)
    finite = magnitude < _word(_MAGNITUDE, count)
    sign = shift_left(bitwise_and(word, _word(_SIGN, count)), _word(24, count))
    return reinterpret(single, bitwise_or(sign, Select(finite, number, _word(0x7FC00000, count))))


def _rounded(value: PrimExpr, count: int, scale: int, shift: int) -> PrimExpr:
    """Return the magnitude of a number with fewer bits, rounded to nearest, ties to even."""
    single = dt.with_lanes("float32", count)
    magnitude = reinterpret(single, bitwise_and(_as_word(value, count), _word(0x7FFFFFFF, count)))
    bits = _as_word(magnitude * const(2.0**-scale, single), count)
    odd = bitwise_and(shift_right(bits, _word(shift, count)), _word(1, count))
    return shift_right(bits + (odd + _word((1 << (shift - 1)) - 1, count)), _word(shift, count))
