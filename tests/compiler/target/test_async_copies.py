"""Asynchronous copies to shared memory in CUDA C, from pipelines and from calls."""

from __future__ import annotations

import re

import pytest

import compiler as tvm
from compiler.ir.error import BuildError
from compiler.ir.module import IRModule
from compiler.target.cuda_tools import compile_cuda, missing_tools
from compiler.tir.script import from_source

PIPELINE = """
@T.prim_func
def main(X: T.Buffer((64, {n}), "float32"), Y: T.Buffer((64, {n}), "float32")):
    for bx in T.thread_binding(4, "blockIdx.x"):
        for tx in T.thread_binding(16, "threadIdx.x"):
            for i in T.serial(16, annotations={{"software_pipeline_stage": [0, 0, {use}],
                    "software_pipeline_order": [0, 1, 2], "software_pipeline_async_stages": {stages}}}):
                with T.block("step"):
                    T.reads(X[bx * 16, 0:{n}])
                    T.writes(Y[bx * 16, 0:{n}])
                    S = T.alloc_buffer((16, 4), "float32", scope="shared")
                    R = T.alloc_buffer((16, 4), "float32", scope="shared")
                    with T.block("S"):
                        T.reads(X[bx * 16 + tx, i * 4 : i * 4 + 4])
                        T.writes(S[tx, 0:4])
                        for v in {loop}(4):
                            S[tx, v] = X[bx * 16 + tx, i * 4 + v + {shift}]
                    with T.block("R"):
                        T.reads(X[bx * 16 + tx, i * 4])
                        T.writes(R[tx, 0])
                        R[tx, 0] = T.if_then_else(i < 15, X[bx * 16 + tx, i * 4], T.float32(0))
                    with T.block("Y"):
                        T.reads(S[0:16, 0:4], R[0:16, 0:4])
                        T.writes(Y[bx * 16 + tx, i * 4])
                        Y[bx * 16 + tx, i * 4] = S[15 - tx, 3] + R[15 - tx, 0]
"""
ASM = r'asm volatile\("(cp\.async[^;]*);"'


def _source(shift: int = 0, loop: str = "T.vectorized", use: int = 1, asynchronous: bool = True) -> str:
    text = PIPELINE.format(n=80, stages=[0], shift=shift, loop=loop, use=use)
    with tvm.transform.PassContext(config={"tir.use_async_copy": asynchronous}):
        built = tvm.build(IRModule({"main": from_source(text)}), target="cuda")
    return str(built.imported_modules[0].get_source())


def _instructions(source: str) -> list[str]:
    return [re.sub(r" \[.*\]", "", line) for line in re.findall(ASM, source)]


def test_stages_of_pipelines_are_copied_asynchronously() -> None:
    source = _source()
    copies = ["cp.async.cg.shared.global, 16", "cp.async.ca.shared.global, 4", "cp.async.commit_group"]
    instructions = _instructions(source)
    assert instructions[:3] == copies
    assert instructions[-1] == "cp.async.wait_group 0"
    assert instructions.count("cp.async.wait_group 1") == 1
    lines = [line.strip() for line in source.splitlines()]
    waits = [at for at, line in enumerate(lines) if "wait_group" in line]
    assert all(lines[at + 1] == "__syncthreads();" for at in waits), "others wait for their copies as well"
    if not missing_tools():
        sass = [line.text for line in compile_cuda(source, "sm_80").sass]
        assert sum("LDGSTS" in line for line in sass) >= 3
        assert any("LDGSTS.E.BYPASS.128" in line for line in sass)


def test_copies_that_are_not_aligned_are_not_vectors() -> None:
    assert "cp.async.cg.shared.global, 16" not in _instructions(_source(shift=1))


def test_nothing_is_asynchronous_by_default() -> None:
    assert not _instructions(_source(asynchronous=False))


CALLS = """
@T.prim_func
def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32"), n: T.int32):
    for tx in T.thread_binding(32, "threadIdx.x"):
        with T.block("copy"):
            T.reads(A[0:128])
            T.writes(B[0:128])
            S = T.alloc_buffer((128,), "float32", scope="shared")
            T.ptx_cp_async("float32", S.data, tx * 4, A.data, tx * 4, {size}, tx < n)
            T.ptx_commit_group()
            T.ptx_wait_group({groups})
            B[tx] = S[tx * 4]
"""


def test_calls_are_instructions() -> None:
    source = tvm.build(from_source(CALLS.format(size=8, groups=0)), target="cuda").imported_modules[0].get_source()
    assert _instructions(source) == [
        "cp.async.ca.shared.global, 8, %2",
        "cp.async.commit_group",
        "cp.async.wait_group 0",
    ]
    assert '"r"((((int)threadIdx.x) < n) ? 8 : 0)' in source.replace("threadIdx.x <", "((int)threadIdx.x) <")
    if not missing_tools():
        assert any("LDGSTS" in line.text for line in compile_cuda(source, "sm_80").sass)


@pytest.mark.parametrize(("size", "groups", "message"), [("2", "0", "4, 8 or 16 bytes, got 2"), ("4", "n", "got n")])
def test_what_there_is_no_instruction_for(size: str, groups: str, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        tvm.build(from_source(CALLS.format(size=size, groups=groups)), target="cuda")
