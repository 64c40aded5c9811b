"""Queries of x86 schedules: ``tvm.target.x86``."""

from __future__ import annotations

from compiler.target.codegen import target_has_features

__all__ = ["get_simd_32bit_lanes", "target_has_features"]


def get_simd_32bit_lanes() -> int:
    """Return the 32-bit lanes of the current target's widest vectors: 16 with AVX-512, 8 with AVX2, else 4."""
    if target_has_features(["avx512bw", "avx512f"]):
        return 16
    return 8 if target_has_features("avx2") else 4
