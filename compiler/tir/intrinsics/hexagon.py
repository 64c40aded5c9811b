"""Dot products of 128-byte vectors on Hexagon."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.tir.function import PrimFunc
from compiler.tir.intrinsics.products import DotProduct, register_intrinsic
from compiler.tir.intrinsics.program_text import parse_function

__all__ = [
    "DMA_READ_128_i8",
    "DMA_READ_128_u8",
    "VDMPY_i16i16i32_INTRIN",
    "VRMPY_u8i8i32_INTRIN",
    "VRMPY_u8i8i32_VTCM_INTRIN",
    "VRMPY_u8u8i32_INTRIN",
    "VRMPY_u8u8i32_VTCM_INTRIN",
    "generate_dma_load_intrin",
    "generate_dot_product_32x2_i16i16i32",
    "generate_dot_product_32x4_u8i8i32",
    "generate_dot_product_32x4_u8u8i32",
]


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


VRMPY_u8u8i32_INTRIN = register_intrinsic("dot_32x4_u8u8i32_vrmpy", *generate_dot_product_32x4_u8u8i32())
VRMPY_u8i8i32_INTRIN = register_intrinsic("dot_32x4_u8i8i32_vrmpy", *generate_dot_product_32x4_u8i8i32())
VDMPY_i16i16i32_INTRIN = register_intrinsic("dot_product_32x2_i16i16i32_vdmpy", *generate_dot_product_32x2_i16i16i32())
VRMPY_u8u8i32_VTCM_INTRIN = register_intrinsic(
    "dot_32x4_u8u8i32_vtcm_vrmpy", *generate_dot_product_32x4_u8u8i32("global.vtcm")
)
VRMPY_u8i8i32_VTCM_INTRIN = register_intrinsic(
    "dot_32x4_u8i8i32_vtcm_vrmpy", *generate_dot_product_32x4_u8i8i32("global.vtcm")
)


def generate_dma_load_intrin(size: int, dtype: str) -> tuple[PrimFunc, PrimFunc]:
    """Return the copy of bytes to tightly coupled memory, and the call that lets the DMA engine do it."""
    head = f"""def main(a: T.handle, c: T.handle):
    A = T.match_buffer(a, ({size},), "{dtype}", offset_factor=1, scope="global")
    C = T.match_buffer(c, ({size},), "{dtype}", offset_factor=1, scope="global.vtcm")
    with T.block("root"):
        T.reads(A[0:{size}])
        T.writes(C[0:{size}])
"""
    loop = f"""        for i in T.serial({size}):
            with T.block("load"):
                vii = T.axis.remap("S", [i])
                C[vii] = A[vii]
"""
    to, source = (
        f'T.tvm_stack_make_array(T.address_of({name}[0]), T.tvm_stack_make_shape({size}), 0, 1, "{dtype}", 0)'
        for name in "CA"
    )
    call = f'        T.call_packed("device_api.hexagon.dma_copy_dltensor", {to}, {source}, {size}, False)\n'
    return parse_function(head + loop), parse_function(head + call)


DMA_READ_128_u8 = register_intrinsic("dma_read_128_u8", *generate_dma_load_intrin(128, "uint8"))
DMA_READ_128_i8 = register_intrinsic("dma_read_128_i8", *generate_dma_load_intrin(128, "int8"))
