"""Blocks that become one block: ``blockize`` of several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler.classic.tir.schedule_testing import verify_trace_roundtrip
from compiler.tir.schedule import Schedule, ScheduleError
from compiler.tir.script import tir as T


@T.prim_func
def stages(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32"), C: T.Buffer((64,), "float32")):
    for i in range(8):
        for i_1 in range(16):
            with T.block("B"):
                vi = T.axis.spatial(128, i * 16 + i_1)
                B[vi] = A[vi] + T.float32(1)
        for i_1 in range(8):
            with T.block("C"):
                vi = T.axis.spatial(64, i * 8 + i_1)
                C[vi] = B[vi * 2] + B[vi * 2 + 1]
        for i_1 in range(16):
            with T.block("D"):
                vi = T.axis.spatial(128, i * 16 + i_1)
                B[vi] = B[vi] * T.float32(2)


def check(sch: Schedule) -> None:
    a, b, c = np.arange(128, dtype="float32"), np.zeros(128, "float32"), np.zeros(64, "float32")
    arrays = [tvm.nd.array(x) for x in (a, b, c)]
    tvm.build(sch.mod, target="llvm")(*arrays)
    np.testing.assert_array_equal(arrays[1].numpy(), (a + 1) * 2)
    np.testing.assert_array_equal(arrays[2].numpy(), (a + 1).reshape(64, 2).sum(1))


def blockized(*names: str, **options: bool) -> tuple[Schedule, Any]:
    sch = Schedule(stages, debug_mask="all")
    outer = sch.blockize([sch.get_block(name) for name in names], **options)
    verify_trace_roundtrip(sch, stages)
    return sch, sch.get(outer)


@pytest.mark.parametrize("names", [("B", "C"), ("C", "D"), ("B", "C", "D"), ("D", "B", "C")])
def test_blocks_in_loops_of_their_own_become_one(names: tuple[str, ...]) -> None:
    sch, outer = blockized(*names)
    assert outer.name_hint == f"outer_{'_'.join(names)}_"
    assert [axis.dom.extent.value for axis in outer.iter_vars] == [8]
    check(sch)


def test_a_block_of_blocks_covers_what_all_of_them_access() -> None:
    _, outer = blockized("B", "C")
    (axis,) = outer.iter_vars
    begins = {str(region.buffer.name): region.region[0] for region in (*outer.reads, *outer.writes)}
    assert {name: int(side.extent) for name, side in begins.items()} == {"A": 16, "B": 16, "C": 8}
    tvm.ir.assert_structural_equal(begins["B"].min, axis.var * 16)


REFUSED = [(("B", "D"), "follow each other"), (("B", "B"), "follow each other")]


@pytest.mark.parametrize(("names", "reason"), REFUSED)
def test_other_blocks_are_refused(names: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        blockized(*names)


def test_blocks_whose_loops_mean_something_else_are_refused() -> None:
    @T.prim_func
    def crossed(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
        for i, j in T.grid(8, 8):
            for i_1 in range(8):
                with T.block("B"):
                    vi = T.axis.spatial(64, i * 8 + i_1)
                    B[vi] = A[vi]
            for i_1 in range(8):
                with T.block("C"):
                    vi = T.axis.spatial(64, j * 8 + i_1)
                    C[vi] = A[vi]

    sch = Schedule(crossed)
    with pytest.raises(ScheduleError, match="differ in what the loops"):
        sch.blockize([sch.get_block("B"), sch.get_block("C")])


def test_a_reduction_leaves_its_initial_values_to_a_block_of_their_own() -> None:
    @T.prim_func
    def sums(A: T.Buffer((16, 4), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        for i in range(16):
            for k in range(4):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = B[vi]

    sch = Schedule(sums)
    with pytest.raises(ScheduleError, match="decompose_reduction"):
        sch.blockize([sch.get_block("B"), sch.get_block("C")])


def test_several_accesses_of_a_buffer_are_covered_by_one_region() -> None:
    @T.prim_func
    def apart(A: T.Buffer((130,), "float32"), B: T.Buffer((128,), "float32")):
        for i, i_1 in T.grid(8, 16):
            with T.block("B"):
                vi = T.axis.spatial(128, i * 16 + i_1)
                T.reads(A[vi], A[vi + 2])
                T.writes(B[vi])
                B[vi] = A[vi] + A[vi + 2]

    sch = Schedule(apart, debug_mask="all")
    outer = sch.get(sch.blockize(sch.get_loops("B")[1]))
    (region,) = outer.reads
    assert int(region.region[0].extent) == 18
