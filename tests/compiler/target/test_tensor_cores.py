"""Tensor cores: fragments and instructions in CUDA C, machine instructions in SASS, and who says that he has none."""

from __future__ import annotations

from functools import cache

import pytest

import compiler as tvm
from compiler.driver.emulate import emulate
from compiler.driver.sanitize import sanitize
from compiler.ir.error import BuildError, LoweringError
from compiler.ir.module import IRModule
from compiler.target.cuda_tools import compile_cuda, missing_tools
from compiler.tir.intrinsics import cuda
from compiler.tir.schedule import Schedule
from compiler.tir.script import from_source

SHOWN = (
    r"computes with tensor cores: target 'cuda' shows it in CUDA C, PTX and SASS, and nothing else has code for it; l"
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
    for run in (emulate, sanitize):
        with pytest.raises(LoweringError, match=SHOWN):
            run(module, target="cuda")
    for kind in ("nvptx", "rocm"):
        with pytest.raises(LoweringError, match=SHOWN):
            tvm.build(module, target=kind)
    for kind in ("opencl", "metal", "webgpu"):
        with pytest.raises(BuildError, match=r"has no memory of scope 'wmma\.accumulator', which .* is of; it has"):
            tvm.build(module, target=kind)
