"""Products ``m16n8k8`` of tensor cores: emulated, against NumPy."""

import numpy as np
import pytest

from compiler import te
from compiler.classic.tir.intrinsics import cuda
from compiler.driver.emulate import emulate
from compiler.runtime.arrays.ndarray import array
from compiler.tir.expressions.intrin_registry import TensorIntrin
from compiler.tir.schedule import Schedule


def scheduled(accumulator: str, short: str) -> Schedule:
    """A product of 32 x 16 and 16 x 32 by one warp; each thread stores what it has of the result."""
    A, B = te.placeholder((32, 16), "float16", "A"), te.placeholder((16, 32), "float16", "B")
    r = te.reduce_axis((0, 16), "k")
    C = te.compute(
        (32, 32), lambda i, j: te.sum(A[i, r].astype(accumulator) * B[r, j].astype(accumulator), axis=r), name="C"
    )
    sch = Schedule(te.create_prim_func([A, B, C]))
    product = sch.get_block("C")
    i, j, k = sch.get_loops(product)
    (k_0, k_1), (i_0, i_1), (j_0, j_1) = sch.split(k, [None, 8]), sch.split(i, [None, 16]), sch.split(j, [None, 8])
    sch.reorder(k_0, i_0, j_0, i_1, j_1, k_1)
    block = sch.add_unit_loop(k_0)
    sch.bind(block, "blockIdx.x")
    stored = sch.cache_write(product, 0, "m16n8k8.matrixC")
    sch.reverse_compute_at(stored, block)
    for index, matrix in enumerate("AB"):
        operand = sch.cache_read(product, index, f"m16n8k8.matrix{matrix}")
        sch.compute_at(operand, k_0)
        shared = sch.cache_read(operand, 0, "shared.dyn")
        sch.compute_at(shared, k_0)
        sch.tensorize(sch.get_loops(operand)[-2], f"mma_load_m16n8k8_f16_{matrix}_shared_dyn")
        _, thread = sch.split(sch.fuse(*sch.get_loops(shared)[-2:]), [None, 32])
        sch.bind(thread, "threadIdx.x")
    init = sch.decompose_reduction(product, k_0)
    sch.tensorize(sch.get_loops(init)[-2], f"mma_init_m16n8k8_{short}")
    sch.tensorize(sch.get_loops(product)[-3], f"mma_sync_m16n8k8_f16f16{short}")
    x, y = sch.get_loops(stored)[-2:]
    (x_0, x_1, x_2), (y_0, y_1, y_2) = sch.split(x, [None, 2, 8]), sch.split(y, [None, 4, 2])
    sch.reorder(x_0, y_0, x_1, x_2, y_1, y_2)
    sch.bind(sch.fuse(x_2, y_1), "threadIdx.x")
    return sch


@pytest.mark.parametrize(("accumulator", "short"), [("float32", "f32"), ("float16", "f16")])
def test_products_are_what_numpy_computes(accumulator: str, short: str) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((32, 16)).astype("float16"), rng.random((16, 32)).astype("float16")
    c = array(np.zeros((32, 32), accumulator))
    emulate(scheduled(accumulator, short).mod, target="cuda")(array(a), array(b), c)
    expected = a.astype("float32") @ b.astype("float32")
    np.testing.assert_allclose(c.numpy(), expected, rtol=1e-5 if short == "f32" else 2e-3)


def test_registers_of_neighbouring_matrices() -> None:
    stride = 64
    assert [cuda.get_index_A(row * stride + column, stride) for row, column in ((0, 0), (16, 0), (0, 8))] == [0, 4, 8]
    assert [cuda.get_index_B(row * stride + column, stride) for row, column in ((0, 8), (0, 32), (8, 0))] == [2, 8, 16]
    assert [cuda.get_index_C(row * stride + column, stride) for row, column in ((0, 8), (8, 0), (16, 0))] == [2, 1, 16]
    assert cuda.index_map_m16n8k8_matrixC([25, 11]) == [1, 1, 1, 1]
    assert cuda.index_map_shared_16x16_to_ldmatrix_32x8_layout([9, 3]) == [5, 3]


def test_results_go_to_shared_memory_without_an_instruction() -> None:
    store = TensorIntrin.get("mma_store_m16n8k8_f32_global")
    assert store is not None
    assert store.desc is store.impl
