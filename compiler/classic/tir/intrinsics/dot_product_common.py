"""Four-way 8-bit dot products on GPUs: ``dp4a``."""

from __future__ import annotations

from compiler.classic.tir.intrinsics.products import register_intrinsic
from compiler.classic.tir.intrinsics.program_text import parse_function
from compiler.ir import dtype as dt
from compiler.tir.statements.function import PrimFunc

__all__ = [
    "DP4A_S8S8S32_INTRIN", "DP4A_S8U8S32_INTRIN", "DP4A_U8S8S32_INTRIN", "DP4A_U8U8U32_INTRIN", "get_dp4a_intrin",
    "lanes_product",
]  # fmt: skip


def lanes_product(a: str, b: str, c: str, *body: str) -> PrimFunc:
    """Return a function ``C[0] += sum(A[k] * B[k])`` of four numbers in shared memory each.

    ``body`` has the statements of its root block, in TVMScript.
    """
    shared = 'offset_factor=1, align=4, scope="shared"'
    source = f"""def main(
    A: T.Buffer((4,), "{a}", {shared}),
    B: T.Buffer((4,), "{b}", {shared}),
    C: T.Buffer((1,), "{c}", offset_factor=1, align=4, scope="local"),
):
    with T.block("root"):
        T.reads(C[0], A[0:4], B[0:4])
        T.writes(C[0])
""" + "".join(f"        {line}\n" for line in body)
    return parse_function(source)


def _update(c: str) -> tuple[str, ...]:
    return (
        "for i in range(4):",
        '    with T.block("update"):',
        '        vi = T.axis.remap("R", [i])',
        f'        C[0] = C[0] + T.cast(A[vi], "{c}") * T.cast(B[vi], "{c}")',
    )


def get_dp4a_intrin(dtype_a: str, dtype_b: str, dtype_c: str) -> tuple[PrimFunc, PrimFunc]:
    """Return what ``dp4a`` of four ``int8`` or ``uint8`` numbers each computes, and the call of it."""
    vectors = [f'{name}.vload([0], "{dtype}x4")' for name, dtype in (("A", dtype_a), ("B", dtype_b))]
    zero = f"T.{'uint32' if dt.is_uint(dtype_c) else 'int32'}(0)"
    call = f'T.call_pure_extern("{dtype_c}", "__dp4a", {vectors[0]}, {vectors[1]}, {zero})'
    description = lanes_product(dtype_a, dtype_b, dtype_c, *_update(dtype_c))
    return description, lanes_product(dtype_a, dtype_b, dtype_c, f"C[0] += {call}")


DP4A_S8S8S32_INTRIN = register_intrinsic("dp4a_s8s8s32", get_dp4a_intrin, "int8", "int8", "int32")
DP4A_U8S8S32_INTRIN = register_intrinsic("dp4a_u8s8s32", get_dp4a_intrin, "uint8", "int8", "int32")
DP4A_S8U8S32_INTRIN = register_intrinsic("dp4a_s8u8s32", get_dp4a_intrin, "int8", "uint8", "int32")
DP4A_U8U8U32_INTRIN = register_intrinsic("dp4a_u8u8u32", get_dp4a_intrin, "uint8", "uint8", "uint32")
