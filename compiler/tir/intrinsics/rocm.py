"""Dot products of four 8-bit numbers on GPUs of AMD: ``sdot4``."""

from compiler.tir.intrinsics.dot_product_common import get_dp4a_intrin, lanes_product
from compiler.tir.intrinsics.products import register_intrinsic

__all__ = ["AMDGPU_SDOT4_INTRIN", "dp4a_desc", "sdot4"]

dp4a_desc, _ = get_dp4a_intrin("int8", "int8", "int32")
sdot4 = lanes_product(
    "int8",
    "int8",
    "int32",
    'a = T.reinterpret("int32", A.vload([0], "int8x4"))',
    'b = T.reinterpret("int32", B.vload([0], "int8x4"))',
    'C[0] += T.call_llvm_pure_intrin("int32", "llvm.amdgcn.sdot4", a, b, T.int32(0), T.bool(True))',
)

AMDGPU_SDOT4_INTRIN = register_intrinsic("sdot4", dp4a_desc, sdot4)
