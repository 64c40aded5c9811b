"""Steps on programs where little is missing for the result to change: they keep it, or are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import tir
from compiler.ir.error import ArgumentError, DTypeError
from compiler.tir.interpreter import interpret
from compiler.tir.schedule import Schedule, ScheduleError
from compiler.tir.script import tir as T
from tests.compiler.tir.schedule.programs import computed

# mypy: disable-error-code="valid-type,no-untyped-def,attr-defined"


@T.prim_func
def _nested_reduction(A: T.Buffer((8, 6)), C: T.Buffer((8,))):
    for o in range(2):
        with T.block("C_outer"):
            vo = T.axis.spatial(2, o)
            for i, k in T.grid(4, 6):
                with T.block("C"):
                    vi = T.axis.spatial(8, vo * 4 + i)
                    vk = T.axis.reduce(6, k)
                    with T.init():
                        C[vi] = 2.0
                    C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def _carried_by_a_copy(A: T.Buffer((4, 3)), B: T.Buffer((4,))):
    C = T.alloc_buffer((4,))
    for i, k in T.grid(4, 3):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi]
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            B[vi] = C[vi] + A[vi, vk]


@T.prim_func
def _reduction_under_a_condition(A: T.Buffer((2, 4)), C: T.Buffer((2,))):
    for i_0, i_1, k in T.grid(1, 4, 4):
        with T.block("C"):
            vi = T.axis.spatial(2, i_0 * 4 + i_1)
            vk = T.axis.reduce(4, k)
            T.where(i_0 * 4 + i_1 < 2)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def _antidiagonal(A: T.Buffer((6, 6)), C: T.Buffer((4,))):
    B = T.alloc_buffer((6, 6))
    for i, j in T.grid(6, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i, k in T.grid(4, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + B[vk, 5 - vk]


@T.prim_func
def _recomputed_reduction(A: T.Buffer((4, 6)), C: T.Buffer((4, 3))):
    B = T.alloc_buffer((4,))
    for i, j in T.grid(4, 3):
        for k in range(6):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi]


@T.prim_func
def _filled_triangle(A: T.Buffer((4, 4)), B: T.Buffer((4, 4))):
    for i, j in T.grid(4, 4):
        with T.block("fill"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = 0.0
    for i in range(4):
        for j in range(i + 1):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(4, j)
                B[vi, vj] = A[vi, vj // 2]


@T.prim_func
def _added_to_filled(A: T.Buffer((8, 4)), B: T.Buffer((8,))):
    for i in range(8):
        with T.block("fill"):
            vi = T.axis.spatial(8, i)
            B[vi] = 3.0
    for i, k in T.grid(8, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def _every_other_element(A: T.Buffer((4,)), B: T.Buffer((8,))):
    for i in range(8):
        with T.block("fill"):
            vi = T.axis.spatial(8, i)
            B[vi] = 3.0
    for i_0, i_1 in T.grid(2, 2):
        with T.block("B"):
            vi = T.axis.spatial(4, i_0 * 2 + i_1)
            B[vi * 2] = A[vi]


@T.prim_func
def _scattered(P: T.Buffer((8,), "int32"), A: T.Buffer((8,)), B: T.Buffer((8,))):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[P[vi]] = A[vi]


@T.prim_func
def _padded_copy(A: T.Buffer((10, 10)), C: T.Buffer((10, 14))):
    B = T.alloc_buffer((10, 10))
    for i, j in T.grid(10, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(10, 14):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vj >= 2 and vj < 12, B[vi, vj - 2], T.float32(0))


@T.prim_func
def _moved_copy(A: T.Buffer((6, 8)), B: T.Buffer((6, 8))):
    for i, j in T.grid(6, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 2, vj // 3]


@T.prim_func
def _row_sums(A: T.Buffer((6, 8)), C: T.Buffer((6,))):
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 1.0
            C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def _late_sums(A: T.Buffer((6, 8)), C: T.Buffer((6,))):
    for i in range(6):
        for k in range(2, 8):
            with T.block("C"):
                vi = T.axis.spatial(6, i)
                vk = T.axis.reduce((2, 8), k)
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def _padded_rows(A: T.Buffer((5,)), B: T.Buffer((4, 2))):
    for i, j in T.grid(4, 2):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vi * 2 + vj >= 1 and vi * 2 + vj < 6, A[vi * 2 + vj - 1], 0.0)


@T.prim_func
def _rows(A: T.Buffer((12, 7)), D: T.Buffer((12, 7))):
    B = T.alloc_buffer((12, 7))
    for i, j in T.grid(12, 7):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(12, 7):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] * 2.0


@T.prim_func
def _copied_bytes(A: T.Buffer((7,), "uint8"), C: T.Buffer((7,), "uint8")):
    B = T.alloc_buffer((7,), "uint8")
    for i in range(7):
        with T.block("B"):
            vi = T.axis.spatial(7, i)
            B[vi] = A[vi]
    for i in range(7):
        with T.block("C"):
            vi = T.axis.spatial(7, i)
            C[vi] = B[vi]


@T.prim_func
def _unused_next_to_used(A: T.Buffer((8, 8)), C: T.Buffer((8, 8))):
    unused = T.alloc_buffer((8, 8))
    B = T.alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            unused[vi, vj] = A[vi, vj]
            B[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]


@T.prim_func
def _both_triangles(A: T.Buffer((4, 6)), C: T.Buffer((4, 6))):
    B = T.alloc_buffer((4, 6))
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi, vi]


@T.prim_func
def _padded_corner(A: T.Buffer((4, 4)), B: T.Buffer((6, 6))):
    for i, j in T.grid(6, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vi >= 2 and vj >= 2, A[vi - 2, vj - 2], T.float32(0))


@T.prim_func
def _last_row(A: T.Buffer((7, 7)), B: T.Buffer((7, 7))):
    for i, j in T.grid(7, 7):
        with T.block("fill"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = 2.0
    for i, j in T.grid(7, 7):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i >= 6)
            B[vi, vj] = A[vi, vj]


@T.prim_func
def _recomputed_under_a_condition(A: T.Buffer((6,)), B: T.Buffer((6,)), C: T.Buffer((6,))):
    for i_0, i_1 in T.grid(2, 2):
        for j in range(6):
            with T.block("B"):
                vj = T.axis.spatial(6, j)
                T.where(i_0 * 2 + i_1 < 1)
                B[vj] = A[vj] + 1.0
        with T.block("next"):
            T.reads(B[0:6])
            T.writes(C[0:6])
            for k in range(6):
                C[k] = B[k]


@T.prim_func
def _triangle(A: T.Buffer((4, 4)), B: T.Buffer((4, 4))):
    for i in range(4):
        for j in range(i, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0


@T.prim_func
def _mirrored_under_a_condition(A: T.Buffer((4, 2)), C: T.Buffer((4, 2))):
    B = T.alloc_buffer((4, 2))
    for i, j in T.grid(4, 2):
        with T.block("B_fill"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = 7.0
    for i, j in T.grid(4, 2):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i < 2)
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(4, 2):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi, 1 - vj]


@T.prim_func
def _scattered_and_read(P: T.Buffer((8,), "int32"), A: T.Buffer((8,)), C: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[P[vi]] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


@T.prim_func
def _never_under_its_condition(A: T.Buffer((4,)), C: T.Buffer((4,))):
    B = T.alloc_buffer((1, 4))
    for i, j in T.grid(1, 4):
        with T.block("B_fill"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = 0.0
    for i, j in T.grid(1, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i % 2 == 1)
            B[vi, vj] = A[vj]
    for j in range(4):
        with T.block("C"):
            vj = T.axis.spatial(4, j)
            C[vj] = B[0, vj]


@T.prim_func
def _every_other_in_a_block(B: T.Buffer((8,))):
    for _ in range(1):
        with T.block("B_o"):
            T.reads()
            T.writes(B[1:8])
            for i in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(4, i)
                    B[vi * 2 + 1] = 1.0


@T.prim_func
def _sum_of_all(A: T.Buffer((4, 6)), C: T.Buffer((1,))):
    for i, k in T.grid(4, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("RR", [i, k])
            with T.init():
                C[0] = 1.0
            C[0] = C[0] + A[vi, vk]


def blockize_the_inner_loop(sch: Any) -> None:
    sch.blockize(sch.get_loops("C")[1])


def blockize_the_loops(sch: Any) -> None:
    sch.blockize(sch.get_loops("C")[0], preserve_unit_iters=False)


def compute_the_antidiagonal_at(sch: Any) -> None:
    sch.compute_at("B", sch.get_loops("C")[0])


def factorize_the_late_loop(sch: Any) -> None:
    sch.rfactor(sch.get_loops("C")[1], 0)


def pad_with_ones(sch: Any) -> None:
    sch.transform_layout("B", ("write", 0), lambda i: (i // 4, i % 4), pad_value=1)


def state_the_whole_buffer(sch: Any) -> None:
    sch.annotate_buffer_access("B", 0, "read", lambda vi, vj: [(0, 6), (0, 8)])
    sch.cache_read("B", 0, "local")


def reverse_the_rows(sch: Any) -> None:
    sch.transform_block_layout("B", lambda i, j: (j, 5 - i))


@pytest.mark.parametrize(
    ("func", "steps"),
    [
        (_nested_reduction, blockize_the_inner_loop),
        (_reduction_under_a_condition, blockize_the_loops),
        (_antidiagonal, compute_the_antidiagonal_at),
        (_late_sums, factorize_the_late_loop),
        (_copied_bytes, pad_with_ones),
        (_moved_copy, state_the_whole_buffer),
        (_moved_copy, reverse_the_rows),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_the_result_stays(func: Any, steps: Callable[[Any], None]) -> None:
    sch = Schedule(func, debug_mask="all")
    steps(sch)
    for result, expected in zip(computed(sch.mod["main"]), computed(func), strict=True):
        np.testing.assert_array_equal(result, expected)


def _partitioned(sch: Any) -> Any:
    sch.loop_partition(sch.get_loops("B")[1], [3, None])
    return sch.get_block("B_j_common")


def _in_parts(sch: Any, block: str) -> Any:
    """Partition the inner loop around a block; return the block of the first part."""
    (first, _) = sch.loop_partition(sch.get_loops(block)[1], [3, None])
    return sch.get_child_blocks(first)[0]


def read_a_copy_beside_the_parts_that_write(sch: Any) -> object:
    outer = sch.get_loops("D")[0]
    sch.compute_at("B", outer)
    sch.loop_partition(sch.get_loops("B")[1], [3, None])
    return sch.read_at(outer, "D", 0, "local")


def write_a_copy_of_a_part(sch: Any) -> object:
    part = _in_parts(sch, "B")
    return sch.write_at(sch.get_loops(part)[0], part, 0, "local")


def write_every_other_element_at_once(sch: Any) -> object:
    return sch.write_at(sch.get_loops("B_o")[0], sch.get_block("B_o"), 0, "local")


REFUSED: list[tuple[Any, Callable[[Any], object], str]] = [
    (
        _recomputed_reduction,
        lambda s: s.decompose_reduction("B", s.get_loops("B")[0]),
        "reduces anew in each iteration",
    ),
    (
        _recomputed_reduction,
        lambda s: s.decompose_reduction("B", s.get_loops("B")[1]),
        "reduces anew in each iteration",
    ),
    (_filled_triangle, lambda s: s.transform_block_layout("B", lambda i, j: (j, i)), "expected to run over just"),
    (_moved_copy, lambda s: s.transform_block_layout("B", lambda i, j: (i + 2, j)), "is not bijective"),
    (_padded_copy, lambda s: s.reverse_compute_at("C", s.get_loops("B")[1]), "computed only for the values of axis vj"),
    (
        _moved_copy,
        lambda s: s.transform_layout("B", ("write", 0), lambda i, j: (4 - i, j)),
        "negative for some elements",
    ),
    (_rows, lambda s: s.compute_at(_partitioned(s), s.get_loops("D")[0]), "without an axis for it"),
    (_rows, lambda s: [_partitioned(s), s.cache_read("D", 0, "local")], "does not say that it writes B"),
    (_rows, read_a_copy_beside_the_parts_that_write, "does not say that it accesses B"),
    (_moved_copy, write_a_copy_of_a_part, "leave some as they are"),
    (_moved_copy, lambda s: s.cache_write(_in_parts(s, "B"), 0, "local"), "may leave some of the elements of B"),
    (_row_sums, lambda s: s.cache_write(_in_parts(s, "C"), 0, "local"), "leave some of the elements of C"),
    (
        _sum_of_all,
        lambda s: s.cache_write(_in_parts(s, "C"), 0, "local"),
        "that earlier iterations outside of its scope",
    ),
    (_triangle, lambda s: s.cache_write("B", 0, "local"), "may leave some of the elements of B"),
    (_triangle, lambda s: s.blockize(s.get_loops("B")[0]), "can not be blockized"),
    (_every_other_in_a_block, write_every_other_element_at_once, "leave some as they are"),
    (
        _mirrored_under_a_condition,
        lambda s: s.merge(s.get_loops("B")[1], s.get_loops("C")[1]),
        "would read what later iterations write",
    ),
    (
        _scattered_and_read,
        lambda s: s.merge(s.get_loops("B")[0], s.get_loops("C")[0]),
        "would read what later iterations write",
    ),
    (
        _never_under_its_condition,
        lambda s: s.transform_block_layout("B", lambda i, j: (j, i)),
        "may keep it from some values of its axes",
    ),
    (_rows, lambda s: s.reverse_compute_at("D", s.get_loops(_partitioned(s))[0]), "does not say which elements"),
]


@pytest.mark.parametrize(("func", "step", "message"), REFUSED)
def test_steps_that_would_change_the_result_are_refused(func: Any, step: Any, message: str) -> None:
    with pytest.raises((ScheduleError, ArgumentError), match=message):
        step(Schedule(func, debug_mask="all"))


def test_what_an_outer_block_initializes_is_not_replaced_by_a_copy() -> None:
    sch: Any = Schedule(_row_sums, debug_mask="all")
    sch.blockize(sch.get_loops("C")[0])
    for step in (lambda: sch.cache_write("C", 0, "local"), lambda: sch.reindex("C", ("write", 0))):
        with pytest.raises(ScheduleError, match="init statement"):
            step()


@pytest.mark.parametrize("func", [_added_to_filled, _every_other_element, _scattered])
def test_a_copy_is_not_written_back_over_other_elements(func: Any) -> None:
    sch: Any = Schedule(func, debug_mask="all")
    with pytest.raises(ArgumentError, match="which the copy would overwrite"):
        sch.write_at(sch.get_loops("B")[0], sch.get_block("B"), 0, "local")


def test_tables_of_indices_are_made_before_they_are_read() -> None:
    sch: Any = Schedule(_moved_copy, debug_mask="all")
    table, _ = sch.cache_index("B", "global")
    assert sch.get(sch.get_consumers(table)[0]).name_hint == "B"
    with pytest.raises(ScheduleError):
        sch.reverse_compute_at("B", sch.get_loops(table)[0])


def test_a_table_is_not_as_long_as_a_loop_says_that_is_around_its_reader() -> None:
    sch: Any = Schedule(_filled_triangle, debug_mask="all")
    outer = sch.blockize([sch.get_block("B")])
    sch.cache_index(outer, "global")
    for result, expected in zip(computed(sch.mod["main"]), computed(_filled_triangle), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_an_alignment_is_of_the_buffer_that_it_was_given_for() -> None:
    sch: Any = Schedule(_unused_next_to_used, debug_mask="all")
    sch.storage_align("B", 0, 0, 16, 0)
    sch.storage_align("B", 1, 0, 16, 3)
    mod = tir.transform.PlanAndUpdateBufferAllocationLocation()(sch.mod)
    aligned = tir.transform.CompactBufferAllocation()(tir.transform.ConvertBlocksToOpaque()(mod))
    assert "T.alloc_buffer((8, 8), strides=(19, 1))" in aligned.script()


def test_a_store_of_another_data_type_is_refused() -> None:
    with pytest.raises(DTypeError, match="dtype mismatch on BufferStore"):
        tir.BufferStore(tir.decl_buffer((4,), "uint8", "B"), tir.const(1, "int32"), [0])


def test_padding_that_depends_on_an_outer_block_is_not_taken_apart() -> None:
    sch: Any = Schedule(_padded_corner, debug_mask="all")
    sch.blockize(sch.get_loops("B")[1])
    with pytest.raises(ScheduleError, match="does not bound its axes one by one"):
        sch.decompose_padding("B", sch.get_loops("B")[0])


def test_padding_that_depends_on_an_outer_block_is_not_taken_apart_where_one_element_is_left() -> None:
    sch = Schedule(_padded_rows)
    sch.blockize(sch.get_loops("B")[1])
    (first, _) = sch.loop_partition(sch.get_loops("B")[0], [1, None])
    part = sch.get_child_blocks(first)[0]
    with pytest.raises(ScheduleError, match="does not bound its axes one by one"):
        sch.decompose_padding(part, sch.get_loops(part)[0])


def test_a_consumer_runs_where_all_that_it_reads_is_made() -> None:
    sch: Any = Schedule(_both_triangles, debug_mask="all")
    sch.fuse(*sch.get_loops("B"))
    with pytest.raises(ScheduleError, match="must be read by the iterations of one value of each axis"):
        sch.reverse_compute_at("C", sch.get_loops("B")[0])


def test_a_consumer_that_pads_is_not_inlined_into_its_producer() -> None:
    sch: Any = Schedule(_padded_copy, debug_mask="all")
    with pytest.raises(ScheduleError, match="need no element of B"):
        sch.reverse_compute_inline("C")


def test_rows_that_are_not_written_are_not_copied_out() -> None:
    sch: Any = Schedule(_last_row, debug_mask="all")
    with pytest.raises(ArgumentError, match="which the copy would overwrite"):
        sch.write_at(sch.get_loops("B")[0], sch.get_block("B"), 0, "shared")


def test_the_copy_of_a_result_is_made_under_the_condition_of_its_block() -> None:
    sch: Any = Schedule(_recomputed_under_a_condition, debug_mask="all")
    sch.cache_write("B", 0, "local")
    assert "T.where(i_0 * 2 + i_1 < 1)" in sch.mod.script().split('T.block("B_local")')[1]


@pytest.mark.parametrize("step", ["cache_write", "reindex"])
def test_a_copy_holds_all_that_a_nested_block_reads_and_writes(step: str) -> None:
    sch: Any = Schedule(_added_to_filled if step == "cache_write" else _nested_reduction, debug_mask="all")
    if step == "cache_write":
        sch.blockize(sch.get_loops("B")[1])
        with pytest.raises(ScheduleError, match="before it writes them"):
            sch.cache_write("B", 0, "local")
    else:
        with pytest.raises(ScheduleError, match="some values of its axes"):
            sch.reindex("C", ("write", 0))


def test_a_block_does_not_read_a_copy_of_what_it_writes() -> None:
    sch: Any = Schedule(_added_to_filled, debug_mask="all")
    with pytest.raises(ScheduleError):
        sch.reindex_cache_read("B", 0, "local", lambda vi, vk: (vi,))


def test_a_reduction_over_an_outer_loop_is_not_decomposed_within_a_part() -> None:
    sch: Any = Schedule(_row_sums, debug_mask="all")
    _, k = sch.get_loops("C")
    _, k_1 = sch.split(k, factors=[None, 4])
    first, _ = sch.loop_partition(k_1, [2, None])
    with pytest.raises(ScheduleError, match="higher than all the loops related to reduce block var"):
        sch.decompose_reduction("C_k_10", first)


@pytest.mark.parametrize("step", [lambda s, loop: s.rfactor(loop, 0), lambda s, loop: s.blockize(loop)])
def test_a_part_of_a_reduction_gets_no_first_value_of_its_own(step: Callable[[Any, Any], object]) -> None:
    sch: Any = Schedule(_row_sums, debug_mask="all")
    _, k_1 = sch.split(sch.get_loops("C")[1], factors=[None, 4])
    first, _ = sch.loop_partition(k_1, [2, None])
    with pytest.raises(ScheduleError, match="that earlier iterations outside of its scope made"):
        step(sch, sch.get_loops(sch.get_child_blocks(first)[0])[0])


@T.prim_func
def _larger_ones(A: T.Buffer((8,)), B: T.Buffer((8,))):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            if A[vi] > 0.5:
                B[vi] = A[vi]


@T.prim_func
def _last_ones(A: T.Buffer((8,)), B: T.Buffer((8,))):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            if vi > 3:
                B[vi] = A[vi]


@T.prim_func
def _either_branch(A: T.Buffer((8,)), B: T.Buffer((8,))):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            if A[vi] > 0.5:
                B[vi] = A[vi]
            else:
                B[vi] = 0.5


@T.prim_func
def _sum_of_larger_ones(A: T.Buffer((8, 4)), B: T.Buffer((8,))):
    for i, k in T.grid(8, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            if A[vi, vk] > 0.5:
                B[vi] = B[vi] + A[vi, vk]


COPIES = {
    "cache_write": lambda s: s.cache_write("B", 0, "global"),
    "reindex": lambda s: s.reindex("B", ("write", 0)),
    "reindex_cache_write": lambda s: s.reindex_cache_write("B", 0, "global", lambda *axes: axes[:1]),
}


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("program", [_larger_ones, _last_ones])
def test_a_copy_does_not_overwrite_what_a_condition_leaves_as_it_is(program: Any, copy: str) -> None:
    with pytest.raises(ScheduleError, match="may leave some of the elements of B as they are"):
        COPIES[copy](Schedule(program))


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("program", [_either_branch, _sum_of_larger_ones])
def test_a_copy_holds_what_is_stored_whatever_the_condition(program: Any, copy: str) -> None:
    schedule = Schedule(program)
    COPIES[copy](schedule)
    A = np.random.default_rng(0).random([int(n) for n in program.buffer_map[program.params[0]].shape], "float32")
    expected, result = np.full(8, -7, "float32"), np.full(8, -7, "float32")
    interpret(program, [A, expected])
    interpret(schedule.mod["main"], [A, result])
    np.testing.assert_array_equal(result, expected)


@T.prim_func
def _every_other_one_by_one(A: T.Buffer((8,)), C: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    for o, i in T.grid(2, 4):
        with T.block("B"):
            vi = T.axis.spatial(8, i * 2 + o)
            B[vi] = A[vi] + 1.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] * 2.0


def test_a_consumer_does_not_read_between_what_its_producer_writes_in_one_iteration() -> None:
    schedule: Any = Schedule(_every_other_one_by_one)
    outer, inner = schedule.get_loops("B")
    with pytest.raises(ScheduleError, match="that its producers write in another one"):
        schedule.reverse_compute_at("C", outer)
    schedule.reverse_compute_at("C", inner)
    A = np.arange(8, dtype="float32")
    result = np.zeros(8, "float32")
    interpret(schedule.mod["main"], [A, result])
    np.testing.assert_array_equal(result, (A + 1) * 2)


@T.prim_func
def _rows_and_columns_in_one_loop(A: T.Buffer((6,)), B: T.Buffer((3,))):
    for o, i in T.grid(5, 4):
        with T.block("B"):
            vi = T.axis.spatial(3, (o * 4 + i) // 6)
            vk = T.axis.reduce(6, (o * 4 + i) % 6)
            T.where(o * 4 + i < 18)
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vk]


def test_a_blockized_reduction_initialises_just_what_it_reduces() -> None:
    schedule: Any = Schedule(_rows_and_columns_in_one_loop)
    schedule.blockize(schedule.get_loops("B")[0])
    A = np.arange(6, dtype="float32")
    result = np.full(3, -7, "float32")
    interpret(schedule.mod["main"], [A, result])
    np.testing.assert_array_equal(result, np.full(3, A.sum()))


@T.prim_func
def _product_in_an_outer_block(A: T.Buffer((8, 4)), B: T.Buffer((8, 4))):
    for o in range(2):
        with T.block("outer"):
            vo = T.axis.spatial(2, o)
            for i, j in T.grid(1, 4):
                with T.block("B"):
                    _vi, vj = T.axis.remap("SS", [i, j])
                    B[vo, vj] = A[vo, vj]


def test_a_product_whose_indices_are_axes_of_another_block_is_not_padded() -> None:
    schedule: Any = Schedule(_product_in_an_outer_block)
    with pytest.raises(ScheduleError, match="with indices that are axes of the block"):
        schedule.pad_einsum("B", [2, 2])


def test_a_copy_of_what_is_read_again_in_the_next_iteration_is_refused() -> None:
    sch = Schedule(_carried_by_a_copy)
    with pytest.raises(ScheduleError, match=r"reads B before block tir\.Block#1 writes it"):
        sch.cache_write("B", 0, "local")
    sch.cache_write("C", 0, "local")
    a, b = np.ones((4, 3), "float32"), np.ones(4, "float32")
    interpret(sch.mod["main"], [a, b])
    np.testing.assert_array_equal(b, [4.0] * 4)
