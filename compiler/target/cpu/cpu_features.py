"""Detection of CPU features by compiling with LLVM."""

from __future__ import annotations

import re
from functools import cache

from compiler.target.cpu.cpu_lineage import features_of
from compiler.target.llvm_machine import emitted_for

_FLOOR = """
declare float @llvm.floor.f32(float)
define float @down(float %x) {
  %y = call float @llvm.floor.f32(float %x)
  ret float %y
}
"""
_FUSED = """
declare float @llvm.fma.f32(float, float, float)
define float @fused(float %x, float %y, float %z) {
  %sum = call float @llvm.fma.f32(float %x, float %y, float %z)
  ret float %sum
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
_BYTE_PRODUCTS = """
define i32 @sum(<{n} x i8> %a, <{n} x i8> %b) {{
  %x = {first} <{n} x i8> %a to <{n} x i32>
  %y = {second} <{n} x i8> %b to <{n} x i32>
  %products = mul <{n} x i32> %x, %y
  %sum = call i32 @llvm.vector.reduce.add.v{n}i32(<{n} x i32> %products)
  ret i32 %sum
}}
"""
_WIDENING = {"uint8": "zext", "int8": "sext"}
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
def has_fused_multiply_add(triple: str, cpu: str, features: str) -> bool:
    """Return whether a CPU multiplies and adds with one rounding, rather than by a function of a library."""
    return re.search(r"\sv?fn?madd", emitted_for(_FUSED, triple, cpu, features)) is not None


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


@cache
def byte_product_bits(triple: str, cpu: str, features: str, first: str, second: str) -> tuple[int, ...]:
    """Return the widths in bits of the vectors of bytes whose products LLVM adds in fours, the widest first.

    ``first`` and ``second``, ``uint8`` or ``int8``, are the factors' data types.  The instructions are x86's
    ``vpdpbusd`` (AVX512-VNNI, AVX-VNNI), and ``sdot``, ``udot`` and ``usdot`` on AArch64.
    """
    if not triple.startswith(("x86_64", "i686", "aarch64", "arm64")):
        return ()
    widening = {"first": _WIDENING[first], "second": _WIDENING[second]}
    programs = (_BYTE_PRODUCTS.format(n=bits // 8, **widening) for bits in _REGISTER_BITS.values())
    text = "\n".join(emitted_for(program, triple, cpu, features) for program in programs)
    if re.search(r"\s(usdot|sdot|udot)\s", text):
        return (128,)
    return tuple(sorted({_REGISTER_BITS[r] for r in re.findall(r"vpdpbusd\s.*%([xyz])mm", text)}, reverse=True))


def integer_products(triple: str, cpu: str, features: str, first: str, second: str) -> int:
    """Return how many products of integers of 8 or 16 bits an instruction adds to each lane of int32: 4, 2, or 1."""
    unsigned, signed = sorted((first, second), reverse=True)
    if {first, second} <= {"int8", "uint8"} and byte_product_bits(triple, cpu, features, unsigned, signed):
        return 4
    return 2 if {first, second} <= {"int16", "int8", "uint8"} and int16_vector_bits(triple, cpu, features) else 1


_TILES = {"amx-bf16": "bfloat16", "amx-int8": "int8"}


@cache
def tile_features(triple: str, cpu: str, features: str) -> frozenset[str]:
    """Return the features of a CPU that multiply in tiles, under Linux: ``amx-bf16``, ``amx-int8``."""
    if not (triple.startswith("x86_64") and "linux" in triple):
        return frozenset()
    known = features_of("x86_64", cpu, features)
    return frozenset(_TILES) & known if "amx-tile" in known else frozenset()


def tile_dtypes(triple: str, cpu: str, features: str) -> frozenset[str]:
    """Return the data types that a CPU multiplies in tiles, ``bfloat16`` and ``int8``."""
    return frozenset(_TILES[feature] for feature in tile_features(triple, cpu, features))


_MATRICES = {"bf16": "bfloat16", "i8mm": "int8"}


@cache
def matrix_dtypes(triple: str, cpu: str, features: str) -> frozenset[str]:
    """Return the data types, ``bfloat16`` and ``int8``, of which AArch64 multiplies two rows by two columns at once."""
    if triple.split("-")[0] not in ("aarch64", "arm64"):
        return frozenset()
    return frozenset(_MATRICES[f] for f in features_of("aarch64", cpu, features) & set(_MATRICES))


@cache
def half_product_bits(triple: str, cpu: str, features: str) -> tuple[int, ...]:
    """Return the widths in bits of the vectors of bfloat16 whose products are added in pairs, the widest first.

    The instructions are ``vdpbf16ps`` (AVX512-BF16) on x86 and ``bfdot`` on AArch64.  Intel's processors with AMX take
    twice as long for one as for multiplying and adding as many bits of float32, as measured on Emerald Rapids: they
    have none, so that vectors are widened.
    """
    architecture = triple.split("-")[0]
    if architecture in ("aarch64", "arm64"):
        return (128,) if "bf16" in features_of("aarch64", cpu, features) else ()
    known = features_of(architecture, cpu, features)
    if "avx512bf16" not in known or "amx-tile" in known | features_of(architecture, cpu, ""):
        return ()
    return (512, 256, 128) if "avx512vl" in known else (512,)
