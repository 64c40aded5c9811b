"""AMD GPU intrinsics: four-way 8-bit dot products (``sdot4``) and matrix cores (``mfma``)."""

from compiler.classic.tir.intrinsics.dot_product_common import get_dp4a_intrin, lanes_product
from compiler.classic.tir.intrinsics.fragment_layouts import (
    shared_4x16_to_local_64x1_layout_B,
    shared_16x4_to_local_64x1_layout_A,
    shared_16x16_to_local_64x4_layout_A,
    shared_16x16_to_local_64x4_layout_B,
    shared_16x16_to_local_64x4_layout_C,
    thread_id_shared_access_64x1_to_4x16_layout_B,
    thread_id_shared_access_64x1_to_16x4_layout_A,
    thread_id_shared_access_64x4_to_16x16_layout_A,
    thread_id_shared_access_64x4_to_16x16_layout_B,
    thread_id_shared_access_64x4_to_16x16_layout_C,
)
from compiler.classic.tir.intrinsics.mfma import (
    CONSTANTS,
    M_DIM,
    N_DIM,
    WARP_SIZE,
    get_mfma_intrin,
    get_mfma_load_intrin,
    get_mfma_store_intrin,
    get_mma_fill_intrin,
)
from compiler.classic.tir.intrinsics.products import register_intrinsic

__all__ = [
    "AMDGPU_SDOT4_INTRIN", "M_DIM", "N_DIM", "WARP_SIZE", "dp4a_desc", "get_mfma_intrin", "get_mfma_load_intrin",
    "get_mfma_store_intrin", "get_mma_fill_intrin", "sdot4", "shared_4x16_to_local_64x1_layout_B",
    "shared_16x4_to_local_64x1_layout_A", "shared_16x16_to_local_64x4_layout_A", "shared_16x16_to_local_64x4_layout_B",
    "shared_16x16_to_local_64x4_layout_C", "thread_id_shared_access_64x1_to_4x16_layout_B",
    "thread_id_shared_access_64x1_to_16x4_layout_A", "thread_id_shared_access_64x4_to_16x16_layout_A",
    "thread_id_shared_access_64x4_to_16x16_layout_B", "thread_id_shared_access_64x4_to_16x16_layout_C",
]  # fmt: skip

dp4a_desc, _ = get_dp4a_intrin("int8", "int8", "int32")
sdot4 = lanes_product(
    "int8",
    "int8",
    "int32",
    'a = T.reinterpret("int32", A.vload([0], "int8x4"))',
    'b = T.reinterpret("int32", B.vload([0], "int8x4"))',
    'C[0] += T.call_llvm_pure_intrin("int32", "llvm.amdgcn.sdot4", a, b, T.int32(0), T.bool(True))',
)

AMDGPU_SDOT4_INTRIN = register_intrinsic("sdot4", lambda: (dp4a_desc, sdot4))


def __getattr__(name: str) -> str:
    """Return the name of a registered intrinsic of matrix cores by its constant: ``ROCM_MFMA_f16f16f32_INTRIN``."""
    if name not in CONSTANTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return CONSTANTS[name]
