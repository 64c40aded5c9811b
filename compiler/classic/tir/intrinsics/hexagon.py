"""Dot products of 128-byte vectors on Hexagon."""

from __future__ import annotations

from compiler.classic.tir.intrinsics.products import DotProduct, register_intrinsic
from compiler.ir import dtype as dt
from compiler.tir.statements.function import PrimFunc

__all__ = [
    "VDMPY_i16i16i32_INTRIN", "VRMPY_u8i8i32_INTRIN", "VRMPY_u8i8i32_VTCM_INTRIN", "VRMPY_u8u8i32_INTRIN",
    "VRMPY_u8u8i32_VTCM_INTRIN", "generate_dot_product_32x2_i16i16i32", "generate_dot_product_32x4_u8i8i32",
    "generate_dot_product_32x4_u8u8i32",
]  # fmt: skip


def _product(depth: int, a: str, b: str, scope: str, instruction: str) -> tuple[PrimFunc, PrimFunc]:
    """Return what an instruction computes, and the call of it; its operands are words of 32 bits."""
    product = DotProduct(32, depth, a, b, "int32", scope)
    lines = (
        f'a = T.broadcast(T.reinterpret("int32", A.vload([0], "{a}x{depth}")), 32)',
        f'b = T.reinterpret("int32x32", B.vload([0, 0], "{b}x{32 * depth}"))',
    )
    is_rmpy = depth == 4
    operands = "b, a" if is_rmpy and dt.is_uint(b) else "a, b"
    value = f'T.call_llvm_pure_intrin("int32x32", "llvm.hexagon.V6.{instruction}.acc.128B", C.vload([0], "int32x32"), '
    return product.description(), product.implementation(f"{value}{operands})", *lines)


def generate_dot_product_32x4_u8u8i32(mem_scope: str = "global") -> tuple[PrimFunc, PrimFunc]:
    """Return what ``vrmpy`` of unsigned numbers in ``global`` or ``global.vtcm`` memory computes, and its call."""
    return _product(4, "uint8", "uint8", mem_scope, "vrmpyubv")


def generate_dot_product_32x4_u8i8i32(mem_scope: str = "global") -> tuple[PrimFunc, PrimFunc]:
    """Return what ``vrmpy`` of unsigned and signed numbers computes, and the call of it."""
    return _product(4, "uint8", "int8", mem_scope, "vrmpybusv")


def generate_dot_product_32x2_i16i16i32(mem_scope: str = "global") -> tuple[PrimFunc, PrimFunc]:
    """Return what ``vdmpy`` of 16-bit numbers computes, and the call of it."""
    return _product(2, "int16", "int16", mem_scope, "vdmpyhvsat")


VRMPY_u8u8i32_INTRIN = register_intrinsic("dot_32x4_u8u8i32_vrmpy", generate_dot_product_32x4_u8u8i32)
VRMPY_u8i8i32_INTRIN = register_intrinsic("dot_32x4_u8i8i32_vrmpy", generate_dot_product_32x4_u8i8i32)
VDMPY_i16i16i32_INTRIN = register_intrinsic("dot_product_32x2_i16i16i32_vdmpy", generate_dot_product_32x2_i16i16i32)
VRMPY_u8u8i32_VTCM_INTRIN = register_intrinsic(
    "dot_32x4_u8u8i32_vtcm_vrmpy", generate_dot_product_32x4_u8u8i32, "global.vtcm"
)
VRMPY_u8i8i32_VTCM_INTRIN = register_intrinsic(
    "dot_32x4_u8i8i32_vtcm_vrmpy", generate_dot_product_32x4_u8i8i32, "global.vtcm"
)
