"""Blocks that nobody has bound to threads are bound, and compute what they did."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.error import LoweringError
from compiler.target.target import Target
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For
from compiler.tir.transform import ConvertBlocksToOpaque, DefaultGPUSchedule, LowerInitBlock, LowerOpaqueBlock
from tests.compiler.tir.transform.programs import apply, nodes, program
from tests.compiler.tir.transform.thread_runs import run_threads

PARAMS = "A: T.Buffer((6, 50), 'int32'), B: T.Buffer((6, 50), 'int32'), C: T.Buffer((6,), 'int32')"
TEXT = """
for i, j in T.grid(6, 50):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + 1
for j, i in T.grid(50, 6):
    with T.block("C"):
        vj, vi = T.axis.remap("RS", [j, i])
        with T.init():
            C[vi] = 0
        C[vi] = C[vi] + B[vi, vj]
"""
GPU = Target("cuda -max_num_threads=64")


def bindings(func: PrimFunc) -> list[tuple[str, int]]:
    return [(n.thread_binding.thread_tag, int(n.extent)) for n in nodes(func, For) if n.thread_binding is not None]


def test_spatial_loops_become_thread_axes() -> None:
    with GPU:
        func = apply(program(TEXT, params=PARAMS), DefaultGPUSchedule())
    assert sorted(bindings(func)) == [
        ("blockIdx.x", 1), ("blockIdx.x", 5), ("threadIdx.x", 6), ("threadIdx.x", 64)
    ]  # fmt: skip
    assert func.attrs["tir.is_scheduled"]
    data = np.random.default_rng(0).integers(0, 9, (6, 50)).astype("int32")
    shifted, sums = np.zeros((6, 50), "int32"), np.zeros(6, "int32")
    run_threads(apply(func, LowerInitBlock(), ConvertBlocksToOpaque(), LowerOpaqueBlock()), [data, shifted, sums])
    np.testing.assert_array_equal(shifted, data + 1)
    np.testing.assert_array_equal(sums, (data + 1).sum(1))


def test_a_block_without_loops_is_one_thread() -> None:
    func = program('with T.block("B"):\n    v = T.axis.spatial(1, 0)\n    C[v] = A[0, 0]', params=PARAMS).with_attr(
        "target", GPU
    )
    assert sorted(bindings(apply(func, DefaultGPUSchedule()))) == [("blockIdx.x", 1), ("threadIdx.x", 1)]


def test_threads_of_a_grid_of_limited_size_take_several_elements() -> None:
    many = "for i in range({}):\n    with T.block('B'):\n        v = T.axis.spatial({}, i)\n        D[v] = 1"
    for extent, loops in (("16384", ["blockIdx.x", "threadIdx.x"]), ("20000", ["blockIdx.x", "threadIdx.x", ""])):
        func = program(many.format(extent, extent), params=f"D: T.Buffer(({extent},), 'int32')")
        nest = nodes(apply(func.with_attr("target", GPU), DefaultGPUSchedule()), For)[::-1]
        assert ["" if n.thread_binding is None else n.thread_binding.thread_tag for n in nest] == loops
        assert int(nest[0].extent) == 256


def test_what_is_scheduled_or_for_a_cpu_stays() -> None:
    func = program(TEXT, params=PARAMS)
    with GPU:
        once = apply(func, DefaultGPUSchedule())
        assert apply(once, DefaultGPUSchedule()) is once
        again = apply(once.without_attr("tir.is_scheduled"), DefaultGPUSchedule())
    assert bindings(again) == bindings(once)
    on_cpu = func.with_attr("target", Target("llvm"))
    assert apply(on_cpu, DefaultGPUSchedule()).body is on_cpu.body
    with pytest.raises(LoweringError, match="has no target, and there is no current one"):
        apply(func, DefaultGPUSchedule())
