"""LowerAutoCopy: annotated copies by threads, vectors, registers and tensor cores, in memory without bank conflicts."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.driver.emulate import emulate
from compiler.driver.lower import lower
from compiler.ir.error import LoweringError
from compiler.ir.module import IRModule
from compiler.ir.transform import Sequential
from compiler.runtime.arrays import ndarray as nd
from compiler.tir.schedule import Schedule
from compiler.tir.script import from_source
from compiler.tir.statements.block import Block
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform import (
    FlattenBuffer,
    LowerAutoCopy,
    LowerMatchBuffer,
    LowerOpaqueBlock,
    ThreadSync,
    UnifyThreadBinding,
)
from tests.compiler.tir.transform.programs import nodes
from tests.compiler.tir.transform.thread_runs import run_threads

BY_WAY_OF_SHARED = """
@T.prim_func
def main(A: T.Buffer(({rows}, {columns}), "float32"), B: T.Buffer({target}, "float32")):
    with T.block("root"):
        for bx in T.thread_binding(1, thread="blockIdx.x"):
            for ty in T.thread_binding(2, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block():
                        S = T.alloc_buffer({shared}, "float32", scope="shared")
                        with T.block("S"):
                            T.block_attr({{"auto_copy": 1, {attributes}}})
                            for i, j in T.grid({rows}, {columns}):
                                S[{stored}] = A[i, j] * T.float32(2)
                        with T.block("B"):
                            T.block_attr({{"auto_copy": 1, "vector_bytes": 4}})
                            for i, j in T.grid({rows}, {columns}):
                                B[{copied}] = S[{stored}] + T.float32(1)
"""

ROW_OF_TILES = """
@T.prim_func
def main({parameters}):
    with T.block("root"):
        T.block_attr({{"warp_execution": True}})
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            for ty in T.thread_binding(2, thread="threadIdx.y"):
                with T.block():
                    X = T.alloc_buffer((64, 64), "{dtype}", scope="{source}")
                    {allocated}
                    with T.block("copy"):
                        T.block_attr({{"auto_copy": 1, "vector_bytes": 16}})
                        for i, j in T.grid({rows}, 64):
                            Y[bx * 32 + i, j] = X[bx * 32 + i, j]{more}
"""


def by_way_of_shared(
    rows: int, columns: int, transposed: bool = False, attributes: str = '"vector_bytes": 4'
) -> IRModule:
    """Copy a matrix to shared memory, and from there, by two warps."""
    there = f"({columns}, {rows})" if transposed else f"({rows}, {columns})"
    place = "j, i" if transposed else "i, j"
    source = BY_WAY_OF_SHARED.format(
        rows=rows, columns=columns, shared=there, target=there, stored=place, copied=place, attributes=attributes
    )
    return LowerAutoCopy()(IRModule({"main": from_source(source)}))


def row_of_tiles(**changes: str) -> Block:
    """Return the block that copies fragments."""
    names = {"parameters": "", "dtype": "float16", "rows": "32", "more": ""} | changes
    (block,) = (
        n
        for n in nodes(
            LowerAutoCopy()(IRModule({"main": from_source(ROW_OF_TILES.format(**names))}))["main"].body, Block
        )
        if n.name_hint == "copy"
    )
    return block


def shared_strides(func: PrimFunc) -> list[tuple[int, ...]]:
    blocks = nodes(func.body, Block)
    return [tuple(int(s) for s in b.strides) for block in blocks for b in block.alloc_buffers if b.scope() == "shared"]


def carried_out(mod: IRModule, a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return what all threads of the block compute together, barriers put where they are needed."""
    lower = Sequential(
        [UnifyThreadBinding(), LowerMatchBuffer(), LowerOpaqueBlock(), FlattenBuffer(), ThreadSync("shared")]
    )
    result = np.zeros(shape, "float32")
    run_threads(lower(mod)["main"], [a, result])
    return result


@pytest.mark.parametrize(
    "attributes", ['"vector_bytes": 4', '"vector_bytes": 16', '"vector_bytes": 16, "local_stage": 1']
)
@pytest.mark.parametrize(("rows", "columns", "transposed"), [(16, 32, False), (32, 16, True), (10, 14, False)])
def test_threads_copy_each_element_once(rows: int, columns: int, transposed: bool, attributes: str) -> None:
    a = np.random.default_rng(1).random((rows, columns), dtype="float32")
    expected = a * 2 + 1
    expected = expected.T if transposed else expected
    mod = by_way_of_shared(rows, columns, transposed, attributes)
    np.testing.assert_array_equal(carried_out(mod, a, expected.shape), expected)


def test_neighbouring_threads_copy_neighbouring_vectors() -> None:
    text = by_way_of_shared(64, 64, attributes='"vector_bytes": 16').script()
    place = "((i_j_fused_0 * 2 + i_j_fused_1) * 32 + i_j_fused_2) * 4 + i_j_fused_3"
    assert f"S[({place}) // 64 % 64, ({place}) % 64] = A[({place}) // 64 % 64, ({place}) % 64] * T.float32(2.0)" in text
    for loop in ("range(16)", 'thread_binding(2, thread="threadIdx.y")', 'thread_binding(32, thread="threadIdx.x")'):
        assert loop in text
    assert "for i_j_fused_3 in T.vectorized(4):" in text


def test_elements_left_over_are_guarded() -> None:
    assert (
        "if (i_j_fused_0 * 2 + i_j_fused_1) * 32 + i_j_fused_2 + i_j_fused_3 < 140:"
        in by_way_of_shared(10, 14).script()
    )


def test_stores_to_global_memory_are_in_its_order() -> None:
    text = by_way_of_shared(32, 16, transposed=True).script()
    assert "for j_i_fused_0 in range(8):" in text


def test_a_stage_in_registers_holds_what_a_thread_copies() -> None:
    text = by_way_of_shared(64, 64, attributes='"vector_bytes": 16, "local_stage": 1').script()
    assert 'S_local = T.alloc_buffer((16, 4), scope="local")' in text


@pytest.mark.parametrize(
    ("rows", "columns", "transposed", "stride"),
    [(128, 16, True, 130), (32, 32, True, 33), (64, 64, False, 64), (128, 8, True, 132)],
)
def test_rows_of_shared_memory_are_as_long_as_the_banks_demand(
    rows: int, columns: int, transposed: bool, stride: int
) -> None:
    mod = by_way_of_shared(rows, columns, transposed)
    assert shared_strides(mod["main"]) == [(stride, 1)]


def test_rows_stay_aligned_to_the_vectors_that_are_stored() -> None:
    ((stride, _),) = shared_strides(by_way_of_shared(64, 16, attributes='"vector_bytes": 16')["main"])
    assert stride % 4 == 0


def test_tiles_of_shared_memory_become_fragments() -> None:
    allocated = 'Y = T.alloc_buffer((64, 64), "float16", scope="wmma.matrix_b")'
    block = row_of_tiles(source="shared", allocated=allocated)
    text = str(block)
    assert "for i_0, j_0 in T.grid(2, 4):" in text
    assert (
        "src = T.match_buffer(X[bx * 32 + i_0 * 16:bx * 32 + i_0 * 16 + 16, j_0 * 16:j_0 * 16 + 16], (16, 16)" in text
    )
    assert "T.tvm_load_matrix_sync(tgt.data, 16, 16, 16, " in text
    assert text.rstrip().endswith('src.strides[0], "col_major")')


def test_fragments_are_stored_to_shared_memory_whose_rows_are_longer() -> None:
    allocated = 'Y = T.alloc_buffer((64, 64), "float32", scope="shared")'
    source = ROW_OF_TILES.format(
        parameters="", dtype="float32", rows="32", more="", source="wmma.accumulator", allocated=allocated
    )
    func = LowerAutoCopy()(IRModule({"main": from_source(source)}))["main"]
    assert shared_strides(func) == [(72, 1)]
    assert "T.tvm_store_matrix_sync(src.data, 16, 16, 16, " in str(func)


@pytest.mark.parametrize(
    ("scope", "size", "name"), [("wmma.accumulator", 16, "wmma_store"), ("m16n8k8.matrixC", 8, "mma_store")]
)
def test_results_go_to_global_memory_a_row_of_tiles_at_a_time(scope: str, size: int, name: str) -> None:
    block = row_of_tiles(
        parameters='Y: T.Buffer((64, 64), "float32")',
        dtype="float32",
        source=scope,
        allocated="",
        more=" * T.float32(2)",
    )
    (staging,) = block.alloc_buffers
    assert staging.scope() == "shared.dyn"
    assert [int(dim) for dim in staging.shape] == [2, 64 // size, size, size]
    text = str(block)
    assert f'with T.block("{name}"):' in text
    assert f"T.writes(X_shared_dyn[ty, j_0, 0:{size}, 0:{size}])" in text
    assert "] * T.float32(2.0)" in text


def test_functions_without_such_blocks_stay_as_they_are() -> None:
    source = BY_WAY_OF_SHARED.replace('"auto_copy": 1', '"auto_copy": 0').format(
        rows=8, columns=8, shared=(8, 8), target=(8, 8), stored="i, j", copied="i, j", attributes='"vector_bytes": 4'
    )
    mod = IRModule({"main": from_source(source)})
    assert LowerAutoCopy()(mod) is mod


def test_tiles_that_do_not_fit_the_loops_are_refused() -> None:
    allocated = 'Y = T.alloc_buffer((64, 64), "float16", scope="wmma.matrix_a")'
    with pytest.raises(LoweringError, match="extent of loop 'i' must be a multiple of 16, got 24"):
        row_of_tiles(source="shared", allocated=allocated, rows="24")
    with pytest.raises(LoweringError, match="must do nothing but store elements"):
        row_of_tiles(source="shared", allocated=allocated, more=" * T.float16(2)")


def test_lowering_shares_out_what_read_at_copies() -> None:
    doubled = """
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, 63 - vj] * T.float32(2)
"""
    sch = Schedule(from_source(doubled))
    block = sch.get_block("B")
    i, j = sch.get_loops(block)
    sch.bind(i, "blockIdx.x")
    _, inner = sch.split(j, [None, 32])
    sch.bind(inner, "threadIdx.x")
    sch.read_at(i, block, 0, "shared")
    lowered = lower(sch.mod)
    assert "for ax0_ax1_fused_0 in range(2):" in lowered.script()
    a = np.random.default_rng(2).random((64, 64), dtype="float32")
    result = np.zeros_like(a)
    run_threads(ThreadSync("shared")(lowered)["main"], [a, result])
    np.testing.assert_array_equal(result, a[:, ::-1] * 2)


PRODUCT = """
@T.prim_func
def main(A: T.Buffer((32, 32), "float16"), B: T.Buffer((32, 32), "float16"), C: T.Buffer((32, 32), "float32")):
    with T.block("root"):
        T.block_attr({"warp_execution": True})
        for bx in T.thread_binding(1, thread="blockIdx.x"):
            for ty in T.thread_binding(2, thread="threadIdx.y"):
                with T.block():
                    As = T.alloc_buffer((32, 32), "float16", scope="shared")
                    Bs = T.alloc_buffer((32, 32), "float16", scope="shared")
                    Af = T.alloc_buffer((32, 32), "float16", scope="wmma.matrix_a")
                    Bf = T.alloc_buffer((32, 32), "float16", scope="wmma.matrix_b")
                    Cf = T.alloc_buffer((32, 32), "float32", scope="wmma.accumulator")
                    with T.block("As"):
                        T.block_attr({"auto_copy": 1, "vector_bytes": 8})
                        for i, j in T.grid(32, 32):
                            As[i, j] = A[i, j]
                    with T.block("Bs"):
                        T.block_attr({"auto_copy": 1, "vector_bytes": 4, "local_stage": 1})
                        for i, j in T.grid(32, 32):
                            Bs[i, j] = B[i, j]
                    with T.block("Af"):
                        T.block_attr({"auto_copy": 1})
                        for i, j in T.grid(16, 32):
                            Af[ty * 16 + i, j] = As[ty * 16 + i, j]
                    with T.block("Bf"):
                        T.block_attr({"auto_copy": 1})
                        for i, j in T.grid(32, 32):
                            Bf[i, j] = Bs[i, j]
                    for j in range(2):
                        with T.block("fill"):
                            T.reads()
                            T.writes(@CT)
                            c = T.match_buffer(@CT, (16, 16), "float32", scope="wmma.accumulator", offset_factor=16)
                            T.evaluate(T.tvm_fill_fragment(c.data, 16, 16, 16, @c, T.float32(0), dtype="handle"))
                        for k in range(2):
                            with T.block("mma"):
                                T.reads(@CT, @AT, @BT)
                                T.writes(@CT)
                                a = T.match_buffer(@AT, (16, 16), "float16", scope="wmma.matrix_a", offset_factor=16)
                                b = T.match_buffer(@BT, (16, 16), "float16", scope="wmma.matrix_b", offset_factor=16)
                                c = T.match_buffer(@CT, (16, 16), "float32", scope="wmma.accumulator", offset_factor=16)
                                T.tvm_mma_sync(c.data, @c, a.data, @a, b.data, @b, c.data, @c)
                    with T.block("C"):
                        T.block_attr({"auto_copy": 1, "vector_bytes": 16})
                        for i, j in T.grid(16, 32):
                            C[ty * 16 + i, j] = Cf[ty * 16 + i, j] * T.float32(2)
"""


def test_a_product_by_tensor_cores_is_what_numpy_computes() -> None:
    """Every kind of copy in one kernel; ``matrix_b`` is read by columns, so that the product is with the transpose."""
    tiles = {
        "CT": "Cf[ty * 16:ty * 16 + 16, j * 16:j * 16 + 16]",
        "AT": "Af[ty * 16:ty * 16 + 16, k * 16:k * 16 + 16]",
        "BT": "Bf[j * 16:j * 16 + 16, k * 16:k * 16 + 16]",
    }
    numbers = {name: f"{name}.elem_offset // 256 + {name}.elem_offset % 256 // 16" for name in "abc"}
    source = PRODUCT
    for name, text in (tiles | numbers).items():
        source = source.replace(f"@{name}", text)
    rng = np.random.default_rng(0)
    a, b = rng.random((32, 32)).astype("float16"), rng.random((32, 32)).astype("float16")
    result = nd.array(np.zeros((32, 32), "float32"))
    emulate(from_source(source), target="cuda")(nd.array(a), nd.array(b), result)
    np.testing.assert_allclose(result.numpy(), 2 * (a.astype("float32") @ b.astype("float32").T), rtol=1e-5)
