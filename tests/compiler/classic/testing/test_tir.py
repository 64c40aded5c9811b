"""Schedules for matrix units: what they compute, and where they put things."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic.tir.intrinsics import cuda, rocm
from compiler.driver.emulate import emulate
from compiler.ir.expr.primexpr import Var
from compiler.tir.statements.function import PrimFunc
from tests.compiler.classic.testing.matrix_units import mfma_schedule, mma_schedule

SIZE = 64
Layout = Callable[[Var, Var], tuple[object, ...]]


def workload(b_transposed: bool, out_dtype: str) -> PrimFunc:
    """A product of square matrices of half precision."""
    A, B = (te.placeholder((SIZE, SIZE), "float16", name) for name in "AB")
    k = te.reduce_axis((0, SIZE), "k")

    def element(i: Var, j: Var) -> object:
        b = B[j, k] if b_transposed else B[k, j]
        return te.sum(A[i, k].astype(out_dtype) * b.astype(out_dtype), axis=k)

    func: PrimFunc = te.create_prim_func([A, B, te.compute((SIZE, SIZE), element, name="C")])
    return func


@pytest.mark.parametrize("b_transposed", [False, True])
def test_tensor_cores_multiply_as_numpy_does(b_transposed: bool) -> None:
    trans = "TRANS_" if b_transposed else ""

    def layout(i: Var, j: Var) -> tuple[object, ...]:
        return (i // 16, j // 16, *cuda.shared_16x16_to_ldmatrix_32x8_layout(i % 16, j % 16))

    sch = mma_schedule(
        workload(b_transposed, "float32"),
        16,
        "float16",
        b_transposed,
        [1, 2, 2, 1, 1],
        [1, 1, 1, 2, 2],
        [2, 2, 1],
        layout,
        layout,
        layout,
        cuda.LDMATRIX_f16_A_INTRIN,
        getattr(cuda, f"LDMATRIX_f16_B_{trans}INTRIN"),
        getattr(cuda, f"MMA_f16f16f32_{trans}{'B_' if b_transposed else ''}INTRIN"),
        cuda.MMA_fill_16x16_f32_INTRIN,
        cuda.MMA_store_16x16_f32_global_INTRIN,
    )
    random = np.random.default_rng(3)
    a, b = (random.standard_normal((SIZE, SIZE)).astype("float16") for _ in range(2))
    c = tvm.nd.array(np.zeros((SIZE, SIZE), "float32"))
    emulate(sch.mod, target="cuda")(tvm.nd.array(a), tvm.nd.array(b), c)
    exact = a.astype("float64") @ (b.T if b_transposed else b).astype("float64")
    np.testing.assert_allclose(c.numpy(), exact, rtol=1e-4, atol=1e-4)
    assert sch.mod.script().count('"buffer_dim_align": [[0, 0, 32, 8]]') == 2


def test_matrix_cores_of_amd_get_threads_by_64_and_rows_without_padding() -> None:
    def tiles(layout: Layout) -> Layout:
        return lambda i, j: (i // 16, j // 16, *layout(i % 16, j % 16))

    maps = [tiles(getattr(rocm, f"shared_16x16_to_local_64x4_layout_{matrix}")) for matrix in ("A", "B", "C")]
    sch = mfma_schedule(
        workload(False, "float32"),
        16,
        "float16",
        False,
        [1, 2, 2, 1, 1],
        [1, 1, 1, 2, 2],
        [2, 2, 1],
        *maps,
        rocm.ROCM_MFMA_LOAD_16x16_A_SHARED_f16_INTRIN,
        rocm.ROCM_MFMA_LOAD_16x16_B_SHARED_f16_INTRIN,
        rocm.ROCM_MFMA_f16f16f32_INTRIN,
        rocm.ROCM_MFMA_fill_16x16_f32_INTRIN,
        rocm.ROCM_MFMA_STORE_16x16_f32_INTRIN,
    )
    text = sch.mod.script()
    assert "llvm.amdgcn.mfma.f32.16x16x16f16" in text
    assert 'T.thread_binding(64, thread="threadIdx.x")' in text
    assert "buffer_dim_align" not in text
