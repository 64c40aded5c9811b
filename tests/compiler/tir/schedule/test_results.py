"""What scheduled programs compute: what NumPy does, interpreted and as machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler.classic.tir.schedule_testing import verify_trace_roundtrip
from compiler.tir.script import tir as T
from tests.compiler.tir.schedule.programs import BLUR, CHAIN, MATMUL, MATMUL_RELU, PADDED, ROW_MAXIMUM, Program

Steps = Callable[[Any], object]


def loops(sch: Any, block: str) -> Any:
    return sch.get_loops(sch.get_block(block))


def split_fuse_reorder(sch: Any) -> None:
    i, j, k = loops(sch, "C")
    i_0, i_1 = sch.split(i, factors=[None, 4])
    k_0, k_1 = sch.split(k, factors=[5, None])
    sch.reorder(i_0, k_0, j, k_1, i_1)
    sch.fuse(j, k_1)


def loops_of_all_kinds(sch: Any) -> None:
    i, j, k = loops(sch, "C")
    j_0, j_1 = sch.split(j, factors=[None, 4])
    sch.reorder(i, j_0, k, j_1)
    sch.parallel(i)
    sch.vectorize(j_1)
    sch.unroll(j_0)
    sch.add_unit_loop(sch.get_block("C"))


def tiled_with_copies(sch: Any) -> None:
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, factors=[None, 4])
    k_0, k_1 = sch.split(k, factors=[None, 6])
    sch.reorder(i_0, j, k_0, i_1, k_1)
    result = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(result, j)
    for index, place in ((0, k_0), (1, j)):
        copy = sch.cache_read(block, index, "global")
        sch.compute_at(copy, place, preserve_unit_loops=bool(index))
    sch.decompose_reduction(block, k_0)


def factorized(sch: Any) -> None:
    _, _, k = loops(sch, "C")
    k_0, k_1 = sch.split(k, factors=[None, 5])
    sch.reorder(k_1, k_0)
    sch.rfactor(k_1, 1)


def factorized_maximum(sch: Any) -> None:
    i, k = loops(sch, "C")
    sch.split(i, factors=[None, 4])
    k_0, _ = sch.split(k, factors=[None, 7])
    partial = sch.rfactor(k_0, -1)
    sch.reverse_compute_at("C", sch.get_loops(partial)[0])


def all_inlined(sch: Any) -> None:
    sch.compute_inline("B")
    sch.reverse_compute_inline("D")


def inlined_into_producers(sch: Any) -> None:
    sch.reverse_compute_inline("C")
    sch.reverse_compute_inline("D")


def moved_together(sch: Any) -> None:
    i, _j = loops(sch, "D")
    i_0, _i_1 = sch.split(i, factors=[None, 5])
    sch.compute_at("C", i_0)
    sch.compute_at("B", i_0)
    sch.parallel(i_0)
    sch.vectorize(loops(sch, "C")[-1])


def moved_the_other_way(sch: Any) -> None:
    i, j = loops(sch, "B")
    j_0, j_1 = sch.split(j, factors=[3, None])
    sch.reorder(j_0, i, j_1)
    sch.reverse_compute_at("C", j_0)
    sch.reverse_compute_at("D", j_0)


def stencil_under_a_split_loop(sch: Any) -> None:
    i, j, k = loops(sch, "C")
    i_0, i_1 = sch.split(i, factors=[None, 5])
    sch.reorder(i_0, j, i_1, k)
    sch.compute_at("B", i_0)


def stencil_inlined(sch: Any) -> None:
    sch.compute_inline("B")
    i, j, k = loops(sch, "C")
    sch.reorder(k, i, j)
    sch.decompose_reduction("C", k)


def rectified_rows(sch: Any) -> None:
    i, j, k = loops(sch, "C")
    sch.reorder(i, k, j)
    sch.reverse_compute_at("D", i)
    sch.vectorize(loops(sch, "D")[-1])
    sch.decompose_reduction("C", k)
    sch.set_scope(sch.get_block("C_init"), 0, "local")


def rows_of_a_copy_apart(sch: Any) -> None:
    copy = sch.cache_read("C", 0, "shared")
    sch.storage_align(copy, 0, axis=0, factor=32, offset=8)
    sch.annotate(copy, "pragma_something", [1, {"a": 2.5}])
    sch.unannotate(copy, "pragma_something")
    sch.unsafe_set_dtype(copy, 0, "float16")


def padding_apart(sch: Any) -> None:
    i, _j = loops(sch, "B")
    assert sch.can_decompose_padding("B", i)
    sch.decompose_padding("B", i)
    sch.vectorize(loops(sch, "B_pad_const")[-1])


def padding_apart_in_split_loops(sch: Any) -> None:
    i, j = loops(sch, "B")
    j_0, j_1 = sch.split(j, factors=[None, 4])
    i_0, i_1 = sch.split(i, factors=[None, 5])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.decompose_padding("B", j_0)


def padding_apart_in_a_later_part_of_a_loop(sch: Any) -> None:
    """The part's axis has values from 2, those of its unpadded copy begin at 0."""
    _, second, _ = sch.loop_partition(loops(sch, "B")[0], [2, 2, None])
    sch.decompose_padding("B_i1", second)


CASES: list[tuple[Program, Steps]] = [
    (MATMUL, split_fuse_reorder),
    (MATMUL, loops_of_all_kinds),
    (MATMUL, tiled_with_copies),
    (MATMUL, factorized),
    (MATMUL, rows_of_a_copy_apart),
    (ROW_MAXIMUM, factorized_maximum),
    (CHAIN, all_inlined),
    (CHAIN, inlined_into_producers),
    (CHAIN, moved_together),
    (CHAIN, moved_the_other_way),
    (BLUR, stencil_under_a_split_loop),
    (BLUR, stencil_inlined),
    (PADDED, padding_apart),
    (PADDED, padding_apart_in_split_loops),
    (PADDED, padding_apart_in_a_later_part_of_a_loop),
    (MATMUL_RELU, rectified_rows),
]


@pytest.mark.parametrize(("program", "steps"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_a_scheduled_program_computes_the_same(program: Program, steps: Steps) -> None:
    sch = program.schedule()
    steps(sch)
    program.check(sch)
    verify_trace_roundtrip(sch, program.func)


def test_a_consumer_of_some_elements_is_inlined_where_it_needs_them() -> None:
    @T.prim_func
    def every_second(A: T.Buffer((16,), "int32"), C: T.Buffer((2, 3), "int32")):
        B = T.alloc_buffer((16,), "int32")
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * 2
        for i, j in T.grid(2, 3):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[(vi * 3 + vj) * 2 + 1] + 1

    sch = tvm.tir.Schedule(every_second)
    sch.reverse_compute_inline("C")
    assert "T.where(" in sch.mod.script()
    result = tvm.nd.array(np.zeros((2, 3), "int32"))
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(np.arange(16, dtype="int32")), result)
    np.testing.assert_array_equal(result.numpy().ravel(), [3, 7, 11, 15, 19, 23])


def test_axes_of_fused_and_split_loops_are_written_as_tvm_writes_them() -> None:
    sch = CHAIN.schedule()
    sch.split(sch.fuse(*loops(sch, "B")), factors=[None, 8])
    assert "(i_j_fused_0 * 8 + i_j_fused_1) // 16" in sch.mod.script()
    unit = CHAIN.schedule()
    unit.split(unit.fuse(*loops(unit, "B")), factors=[1, None])
    assert "(i_j_fused_0 * 192 + i_j_fused_1) // 16" in unit.mod.script()


def test_loops_that_end_before_they_begin_run_no_iteration_when_they_are_fused() -> None:
    @T.prim_func
    def cut(C: T.Buffer((8,), "int32")) -> None:
        for i in range(8):
            for j, k in T.grid(3 - i, T.min(i, 2) - T.max(i - 1, 0)):
                with T.block("C"):
                    vi, _vj, _vk = T.axis.remap("SSS", [i, j, k])
                    C[vi] = C[vi] + 1

    sch: Any = tvm.tir.Schedule(cut)
    _, j, k = loops(sch, "C")
    sch.fuse(j, k)
    result = tvm.nd.array(np.zeros(8, "int32"))
    tvm.build(sch.mod, target="llvm")(result)
    np.testing.assert_array_equal(result.numpy(), [0, 2, 1, 0, 0, 0, 0, 0])


def test_fused_loops_stand_in_regions_without_a_quotient_of_a_quotient() -> None:
    @T.prim_func
    def copy(A: T.Buffer((4, 8, 16)), B: T.Buffer((4, 8, 16))) -> None:
        for i, j, k in T.grid(4, 8, 16):
            with T.block("row"):
                T.reads(A[i, j, k])
                T.writes(B[i, j, k])
                B[i, j, k] = A[i, j, k]

    sch: Any = tvm.tir.Schedule(copy)
    sch.fuse(*sch.get_loops("row"))
    region = sch.get(sch.get_block("row")).reads[0].region
    f = "i_j_k_fused"
    assert [str(r.min) for r in region] == [f"{f} // 128", f"{f} % 128 // 16", f"{f} % 16"]


def test_blocks_that_copy_are_named_by_their_memory() -> None:
    sch = MATMUL.schedule()
    sch.cache_read("C", 0, "shared.dyn")
    sch.cache_write("C", 0, "wmma.accumulator")
    for name in ("A_shared.dyn", "C_wmma.accumulator"):
        assert sch.get(sch.get_block(name)).name_hint == name
    assert "A_shared_dyn = T.alloc_buffer((" in sch.mod.script()
