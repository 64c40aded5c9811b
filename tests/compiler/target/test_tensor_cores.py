"""Tensor cores: fragments and instructions in CUDA C, machine instructions in SASS, emulation, and who has none."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import compiler as tvm
from compiler.classic.tir.intrinsics import cuda
from compiler.driver.emulate import emulate
from compiler.driver.lower import lower
from compiler.driver.sanitize import sanitize
from compiler.ir.error import ArgumentError, BuildError, LoweringError
from compiler.ir.module import IRModule
from compiler.target.cuda_tools import compile_cuda, missing_tools
from compiler.tir.schedule import Schedule
from compiler.tir.script import from_source
from compiler.tir.warp_access import explain_kernels

SHOWN = (
    r"computes with tensor cores: target 'cuda' has code for it in CUDA C, PTX and SASS, and emulation runs it; leave "
)
SOURCE = """
@T.prim_func
def main(A: T.Buffer(({n}, {n}), "{a}"), B: T.Buffer(({n}, {n}), "{a}"), C: T.Buffer(({n}, {n}), "{c}")):
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{c}(0)
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "{c}") * T.cast(B[{place}], "{c}")
"""


def tiles(sch: Schedule, block: object) -> object:
    """Divide the last two loops of a block into tiles of 16 x 16, and return the outermost loop of a tile."""
    rows, columns = sch.get_loops(block)[-2:]
    (r_0, r_1), (c_0, c_1) = sch.split(rows, [None, 16]), sch.split(columns, [None, 16])
    sch.reorder(r_0, c_0, r_1, c_1)
    return r_1


@cache
def wmma_module(a: str, c: str, trans_b: bool, n: int = 32) -> IRModule:
    """Return a product of one block and one warp, by the registered ``wmma`` intrinsics."""
    names = cuda.get_wmma_intrin_group("shared", "global", a, c, trans_b)
    place = "vj, vk" if trans_b else "vk, vj"
    sch = Schedule(from_source(SOURCE.format(n=n, a=a, c=c, place=place)), debug_mask="all")
    loops = [sch.split(loop, [None, 16]) for loop in sch.get_loops("C")]
    sch.reorder(*[outer for outer, _ in loops], *[inner for _, inner in loops])
    block = sch.blockize(loops[0][1])
    sch.bind(loops[0][0], "blockIdx.x")
    result = sch.cache_write(block, 0, "wmma.accumulator")
    sch.reverse_compute_at(result, loops[1][0])
    copies = []
    for index, scope in ((0, "wmma.matrix_a"), (1, "wmma.matrix_b")):
        shared = sch.cache_read(block, index, "shared")
        copies.append(sch.cache_read(block, index, scope))
        for copy in (copies[-1], shared):
            sch.compute_at(copy, loops[2][0])
        _, lanes = sch.split(sch.fuse(*sch.get_loops(shared)[-2:]), [None, 32])
        sch.bind(lanes, "threadIdx.x")
    init = sch.decompose_reduction(block, loops[2][0])
    sch.tensorize(init, names["init"])
    sch.tensorize(block, names["compute"])
    for copy, name in ((copies[0], names["load_a"]), (copies[1], names["load_b"]), (result, names["store"])):
        sch.tensorize(tiles(sch, copy), name)
    return sch.mod


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("a", "c", "trans_b", "instruction"),
    [
        ("float16", "float32", False, "HMMA.16816.F32"),
        ("float16", "float16", True, ""),
        ("int8", "int32", True, "IMMA"),
    ],
)
def test_fragments_of_blocks_become_machine_instructions(a: str, c: str, trans_b: bool, instruction: str) -> None:
    source = tvm.build(wmma_module(a, c, trans_b), target="cuda").imported_modules[0].get_source()
    element = {"float16": "half", "int8": "signed char"}[a]
    layout = "col_major" if trans_b else "row_major"
    assert f"fragment<nvcuda::wmma::matrix_b, 16, 16, 16, {element}, nvcuda::wmma::{layout}>" in source
    for call in ("fill_fragment", "load_matrix_sync", "mma_sync", "store_matrix_sync"):
        assert f"nvcuda::wmma::{call}(" in source
    assert source.count("__syncthreads();") >= 2, "fragments are loaded after their tile was copied"
    if instruction and not missing_tools():
        report = compile_cuda(source, "sm_80")
        assert any(instruction in line.text for line in report.sass)
        assert report.kernels[0].resources.spill_store_bytes == 0


def test_nobody_but_cuda_has_tensor_cores() -> None:
    module = wmma_module("float16", "float32", False)
    for kind in ("nvptx", "rocm", "opencl", "metal", "webgpu"):
        with pytest.raises(LoweringError, match=f"build for {kind}: tvm_fill_fragment {SHOWN}"):
            tvm.build(module, target=kind)


MMA = """
@T.prim_func
def main(A: T.Buffer((16, 16), "float16"), B: T.Buffer((8, 16), "float16"), C: T.Buffer((16, 8), "float32")):
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((16, 16), "float16", scope="shared")
    a = T.alloc_buffer((8,), "float16", scope="local")
    b = T.alloc_buffer((4,), "float16", scope="local")
    c = T.alloc_buffer((4,), "float32", scope="local")
    for i in range(8):
        S[i * 2 + tx // 16, tx % 16] = A[i * 2 + tx // 16, tx % 16]
    for i in range(4):
        c[i] = T.float32(0)
        b[i] = B[tx // 4, tx % 4 * 2 + i % 2 + i // 2 * 8]
    T.evaluate(T.ptx_ldmatrix(False, 4, ".b16", a.data, 0, S.access_ptr("r"), tx % 16 * 16 + tx // 16 * 8,
        dtype="float16"))
    T.evaluate(T.ptx_mma("m16n8k16", "row", "col", "fp16", "fp16", "fp32", a.data, 0, b.data, 0, c.data, 0, False,
        dtype="float32"))
    for i in range(4):
        C[tx // 4 + i // 2 * 8, tx % 4 * 2 + i % 2] = c[i]
"""


def test_instructions_of_warps_are_inline_ptx() -> None:
    source = tvm.build(from_source(MMA), target="cuda").imported_modules[0].get_source()
    assert '"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"' in source
    mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, "
    assert mma in source
    assert source.index("__syncthreads();") < source.index("ldmatrix.sync"), "the tile is copied by all threads"
    if not missing_tools():
        instructions = "\n".join(line.text for line in compile_cuda(source, "sm_80").sass)
        assert "LDSM.16.M88.4" in instructions
        assert "HMMA.16816.F32" in instructions


def assert_multiplies(module: IRModule, a: np.ndarray, b: np.ndarray, c: str) -> None:
    """Run a product under emulation and in the checking interpreter, and compare it with NumPy's."""
    expected = a.astype("float64") @ b.astype("float64")
    tolerance = {"float16": 2e-3, "float32": 1e-5, "int32": 0}[c]
    operands = [a, b.T.copy() if b.flags.f_contiguous else b]
    result = tvm.nd.array(np.zeros(expected.shape, c))
    emulate(module, target="cuda")(*map(tvm.nd.array, operands), result)
    np.testing.assert_allclose(result.numpy(), expected, tolerance, tolerance * np.abs(expected).max())
    checked = np.zeros(expected.shape, c)
    faults = sanitize(module, target="cuda", arrays=[*operands, checked])
    assert faults.complete
    assert not faults.reports
    np.testing.assert_array_equal(checked, result.numpy())


@pytest.mark.parametrize(("a", "c", "trans_b"), [("float16", "float32", False), ("int8", "int32", True)])
def test_fragments_are_emulated(a: str, c: str, trans_b: bool) -> None:
    rng = np.random.default_rng(7)
    left, right = ((rng.standard_normal((32, 32)) * 4).astype(a) for _ in range(2))
    assert_multiplies(wmma_module(a, c, trans_b), left, right.T if trans_b else right, c)


@pytest.mark.sample(2)
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("stages", [[0, 1, 0, 1, 1], [0, 0, 0, 0, 1], [0, 1, 0, 1, 2], [0, 2, 1, 2, 2]])
def test_iterations_that_overlap_have_fragments_and_memory_of_their_own(stages: list[int], align: bool) -> None:
    """Intrinsics access both by pointers, whose versions begin where their rows or fragments do."""
    sch = Schedule(wmma_module("float16", "float32", False, 64))
    steps = sch.get_loops("A_shared")[2]
    sch.annotate(steps, "software_pipeline_stage", stages)
    sch.annotate(steps, "software_pipeline_order", [0, 2, 1, 3, 4])
    if align:
        sch.storage_align("A_shared", 0, -2, 16, 8)
    rng = np.random.default_rng(7)
    left, right = (rng.standard_normal((64, 64)).astype("float16") for _ in range(2))
    assert_multiplies(sch.mod, left, right, "float32")


def test_a_pointer_without_a_beginning_has_no_versions() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((16, 4), "float32"), C: T.Buffer((16, 4), "float32")):
    for i in T.serial(16, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
        with T.block():
            B = T.alloc_buffer((4,), "float32")
            for j in range(4):
                B[j] = A[i, j]
            with T.block():
                T.reads(B[0:4])
                T.writes(C[i, 0:4])
                T.evaluate(T.call_extern("int32", "copy", C.access_ptr("w", offset=i * 4), B.data))
"""
    lower(from_source(source.replace("B.data", 'B.access_ptr("r")')))
    with pytest.raises(ArgumentError, match=r"B has a version for each iteration, and .* takes its pointer without"):
        lower(from_source(source))


def test_instructions_of_warps_are_emulated() -> None:
    rng = np.random.default_rng(7)
    left, right = (rng.standard_normal(shape).astype("float16") for shape in ((16, 16), (8, 16)))
    assert_multiplies(from_source(MMA), left, right.T, "float32")


@pytest.mark.parametrize(
    ("there", "wrong", "message"),
    [
        ('"threadIdx.x", 32', '"threadIdx.x", 48', "an instruction of 32 threads, but a block has 48, which"),
        ('"m16n8k16", "row"', '"m8n8k4", "row"', "ptx_mma.* of m8n8k4 row col fp16 fp16 fp32 has a fragment layout"),
    ],
)
def test_what_emulation_says_of_other_warps_and_fragments(there: str, wrong: str, message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        emulate(from_source(MMA.replace(there, wrong)), target="cuda")


def operations(module: IRModule) -> tuple[float, dict[str, float]]:
    (kernel,) = explain_kernels(tvm.build(module, target="cuda").imported_modules[0].kernels)
    return kernel.flops, kernel.matrix_flops


def test_operations_of_instructions_count() -> None:
    """Products and sums, of the whole warp where it multiplies matrices."""
    assert operations(wmma_module("float16", "float32", False)) == (2 * 32**3, {"float16 to float32": 2 * 32**3})
    assert operations(wmma_module("int8", "int32", True)) == (2 * 32**3, {"int8 to int32": 2 * 32**3})
    assert operations(from_source(MMA)) == (2 * 16 * 8 * 16, {"float16 to float32": 2 * 16 * 8 * 16})


@pytest.mark.parametrize(
    ("there", "wrong", "message"),
    [
        ('"m16n8k16"', '"m16n8k16; trap"', "tensor cores support m8n8k4, .* got .*m16n8k16; trap"),
        ('".b16"', '".b16 {%0}; trap"', r"tensor cores support \.b16, got"),
        ('False, 4, ".b16"', 'False, 3, ".b16"', "ldmatrix loads 1, 2 or 4 matrices, got 3"),
    ],
)
def test_words_of_instructions_are_those_of_a_table(there: str, wrong: str, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        tvm.build(from_source(MMA.replace(there, wrong)), target="cuda")
