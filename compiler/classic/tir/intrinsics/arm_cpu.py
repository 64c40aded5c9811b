"""8-bit dot products on Arm: NEON, and the dot product extension."""

from __future__ import annotations

from compiler.classic.tir.intrinsics.dot_product_common import (
    DP4A_S8S8S32_INTRIN,
    DP4A_S8U8S32_INTRIN,
    DP4A_U8S8S32_INTRIN,
    DP4A_U8U8U32_INTRIN,
)
from compiler.classic.tir.intrinsics.products import DotProduct, register_intrinsic
from compiler.ir import dtype as dt
from compiler.tir.statements.function import PrimFunc

__all__ = [
    "DP4A_S8S8S32_INTRIN", "DP4A_S8U8S32_INTRIN", "DP4A_U8S8S32_INTRIN", "DP4A_U8U8U32_INTRIN",
    "ARM_DOT_4x4_i8_NEON_INTRIN", "ARM_DOT_4x4_i8_SDOT_INTRIN", "ARM_DOT_4x4_u8_HDOT_INTRIN",
    "ARM_DOT_4x4_u8_UDOT_INTRIN", "get_dotprod_intrin", "neon_4x4_i8i8i32_desc", "neon_4x4_i8i8i32_impl",
]  # fmt: skip


def get_dotprod_intrin(in_dtype: str, out_dtype: str) -> tuple[PrimFunc, PrimFunc]:
    """Return what ``sdot`` (``int8`` to ``int32``) or ``udot`` (``uint8`` to ``uint32``) computes, and its call."""
    product = DotProduct(4, 4, in_dtype, in_dtype, out_dtype)
    instruction = "udot" if dt.is_uint(in_dtype) else "sdot"
    lanes = (
        f'T.reinterpret("{in_dtype}x16", T.broadcast(T.reinterpret("{out_dtype}", A.vload([0], "{in_dtype}x4")), 4))'
    )
    value = (
        f'T.call_llvm_pure_intrin("{out_dtype}x4", "llvm.aarch64.neon.{instruction}.v4i32.v16i8", '
        f'C.vload([0], "{out_dtype}x4"), a, B.vload([0, 0], "{in_dtype}x16"))'
    )
    return product.description(), product.implementation(value, f"a = {lanes}")


def _neon(name: str, dtype: str, kind: str, *args: str) -> str:
    return f'T.call_llvm_pure_intrin("{dtype}", "llvm.aarch64.neon.{name}.{kind}", {", ".join(args)})'


def _half_of_sums(row: int) -> str:
    """Return the sums of pairs of products of two rows, as a vector of four."""
    product = _neon("smull", "int16x8", "v8i16", "a", f'B.vload([{row}, 0], "int8x8")')
    return _neon("saddlp", "int32x4", "v4i32.v8i16", product)


_NEON = DotProduct(4, 4, "int8", "int8", "int32")
neon_4x4_i8i8i32_desc = _NEON.description()
neon_4x4_i8i8i32_impl = _NEON.implementation(
    f'C.vload([0], "int32x4") + {_neon("addp", "int32x4", "v4i32", _half_of_sums(0), _half_of_sums(2))}',
    'a = T.reinterpret("int8x8", T.broadcast(T.reinterpret("int32", A.vload([0], "int8x4")), 2))',
)

ARM_DOT_4x4_i8_NEON_INTRIN = register_intrinsic(
    "dot_4x4_i8i8s32_neon", lambda: (neon_4x4_i8i8i32_desc, neon_4x4_i8i8i32_impl)
)
ARM_DOT_4x4_i8_SDOT_INTRIN = register_intrinsic("dot_4x4_i8i8s32_sdot", get_dotprod_intrin, "int8", "int32")
ARM_DOT_4x4_u8_UDOT_INTRIN = register_intrinsic("dot_4x4_u8u8u32_udot", get_dotprod_intrin, "uint8", "uint32")
ARM_DOT_4x4_u8_HDOT_INTRIN = register_intrinsic("dot_4x4_u8u8i32_hdot", get_dotprod_intrin, "uint8", "int32")
