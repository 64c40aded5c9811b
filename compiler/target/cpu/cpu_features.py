"""Detection of x86 CPU features by compiling with LLVM."""

from __future__ import annotations

import re
from functools import cache

from compiler.target.llvm_machine import emitted_for

__all__ = ["converts_halves", "has_sse41", "int16_vector_bits"]

_FLOOR = """
declare float @llvm.floor.f32(float)
define float @down(float %x) {
  %y = call float @llvm.floor.f32(float %x)
  ret float %y
}
"""
_INT16_SQUARES = """
define void @squares(ptr %a) {
  %x = load <64 x i16>, ptr %a
  %y = mul <64 x i16> %x, %x
  store <64 x i16> %y, ptr %a
  ret void
}
"""
_HALF = """
define half @narrow(float %x) {
  %y = fptrunc float %x to half
  ret half %y
}
"""
_REGISTER_BITS = {"x": 128, "y": 256, "z": 512}


@cache
def has_sse41(triple: str, cpu: str, features: str) -> bool:
    """Return whether LLVM uses SSE 4.1 for a CPU.

    It is detected by compiling an expression that one of its instructions computes.
    """
    if not triple.startswith(("x86_64", "i686")):
        return False
    return "roundss" in emitted_for(_FLOOR, triple, cpu, features)


@cache
def converts_halves(triple: str, cpu: str, features: str) -> bool:
    """Return whether code for a CPU converts half precision rightly.

    On x86 without F16C, functions of a library convert, which take and return numbers in SSE2's registers; LLVM passes
    them elsewhere where a target does without SSE2.
    """
    if not triple.startswith(("x86_64", "i686")) or int16_vector_bits(triple, cpu, features):
        return True
    return "vcvtps2ph" in emitted_for(_HALF, triple, cpu, features)


@cache
def int16_vector_bits(triple: str, cpu: str, features: str) -> int:
    """Return the width in bits of the vectors that LLVM uses for 16-bit integers on x86.

    It may be less than for floats: AVX lacks 256-bit integer vectors, and AVX-512F those of 16-bit integers.
    """
    if not triple.startswith(("x86_64", "i686")):
        return 0
    registers = re.findall(r"pmullw\s.*%([xyz])mm", emitted_for(_INT16_SQUARES, triple, cpu, features))
    return max((_REGISTER_BITS[r] for r in registers), default=0)
