"""8-bit dot products on x86: AVX-512, and its VNNI extension."""

from compiler.classic.tir.intrinsics.products import DotProduct, register_intrinsic

__all__ = [
    "AVX512_DOT_16x4_INTRIN", "VNNI_DOT_16x4_INTRIN", "dot_product_16x4_u8i8i32_avx512",
    "dot_product_16x4_u8i8i32_desc", "dot_product_16x4_u8i8i32_vnni",
]  # fmt: skip

_PRODUCT = DotProduct(16, 4, "uint8", "int8", "int32")
_LINES = (
    'a = T.broadcast(T.reinterpret("int32", A.vload([0], "uint8x4")), 16)',
    'b = T.reinterpret("int32x16", B.vload([0, 0], "int8x64"))',
)

dot_product_16x4_u8i8i32_desc = _PRODUCT.description()
dot_product_16x4_u8i8i32_vnni = _PRODUCT.implementation(
    'T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", C.vload([0], "int32x16"), a, b)', *_LINES
)
dot_product_16x4_u8i8i32_avx512 = _PRODUCT.implementation(
    'C.vload([0], "int32x16") + '
    'T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.pmaddw.d.512", pairs, T.broadcast(T.int16(1), 32))',
    *_LINES,
    'pairs = T.call_llvm_pure_intrin("int16x32", "llvm.x86.avx512.pmaddubs.w.512", '
    'T.reinterpret("int8x64", a), T.reinterpret("int8x64", b))',
)

VNNI_DOT_16x4_INTRIN = register_intrinsic(
    "dot_16x4_vnni", lambda: (dot_product_16x4_u8i8i32_desc, dot_product_16x4_u8i8i32_vnni)
)
AVX512_DOT_16x4_INTRIN = register_intrinsic(
    "dot_16x4_avx512", lambda: (dot_product_16x4_u8i8i32_desc, dot_product_16x4_u8i8i32_avx512)
)
