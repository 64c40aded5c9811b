"""Steps that are refused: with the reason, drawn into the program, and without a change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compiler import tir
from compiler.ir.error import ArgumentError
from compiler.tir.schedule import Schedule, ScheduleError
from compiler.tir.script import tir as T
from tests.compiler.tir.schedule.programs import BLUR, CHAIN, MATMUL, MATMUL_RELU, PADDED, ROW_MAXIMUM, Program

# mypy: disable-error-code="valid-type,no-untyped-def,attr-defined"


@T.prim_func
def _two_writers(A: T.Buffer((8,)), C: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    for i in range(4):
        with T.block("low"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(4):
        with T.block("high"):
            vi = T.axis.spatial(8, i + 4)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]


@T.prim_func
def _running_sum(A: T.Buffer((8,))):
    for i in range(7):
        with T.block("sum"):
            T.reads(A[i : i + 2])
            T.writes(A[i + 1])
            A[i + 1] = A[i + 1] + A[i]


@T.prim_func
def _padded_corner(A: T.Buffer((8, 8)), B: T.Buffer((8, 8))):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(vi + vj < 8, A[vi, vj], T.float32(0))


@T.prim_func
def _padded_rows(A: T.Buffer((8,)), B: T.Buffer((10,)), C: T.Buffer((10,))):
    for i in range(10):
        with T.block("B"):
            vi = T.axis.spatial(10, i)
            B[vi] = T.if_then_else(vi < 8, A[vi], T.float32(0))
        with T.block("C"):
            vi = T.axis.spatial(10, i)
            C[vi] = B[vi]


PADDED_ROWS = Program(_padded_rows, ((8,),), lambda a: a)
PADDED_CORNER = Program(_padded_corner, ((8, 8),), lambda a: a)
TWO_WRITERS = Program(_two_writers, ((8,),), lambda a: a)
RUNNING_SUM = Program(_running_sum, (), lambda: None)

CASES: list[tuple[Program, Callable[[Any], object], str]] = [
    (MATMUL, lambda s: s.get_block("missing"), "Cannot find a block with the name: missing"),
    (MATMUL, lambda s: s.parallel(s.get_loops("C")[2]), "neither data parallel"),
    (MATMUL, lambda s: s.split(s.get_loops("C")[0], [1, 2]), "product of factors is not larger than or equal"),
    (MATMUL, lambda s: s.split(s.get_loops("C")[0], [None, None]), "Only one factor can be specified"),
    (MATMUL, lambda s: s.split(s.get_loops("C")[0], [4, 0]), "factor at position 1 is 0"),
    (MATMUL, lambda s: s.bind(s.get_loops("C")[2], "blockIdx.x"), "neither data parallel"),
    (RUNNING_SUM, lambda s: s.vectorize(s.get_loops("sum")[0]), "does not have compact dataflow"),
    (MATMUL, lambda s: s.reorder(s.get_loops("C")[0], s.get_loops("C")[0]), "appears more than once"),
    (CHAIN, lambda s: s.reorder(s.get_loops("B")[0], s.get_loops("C")[0]), "not nested in each other"),
    (CHAIN, lambda s: s.fuse(s.get_loops("B")[0], s.get_loops("C")[1]), "is not the parent of the inner loop"),
    (CHAIN, lambda s: s.compute_inline("D"), "is an output block"),
    (MATMUL_RELU, lambda s: s.compute_inline("C"), "is not a complete block - it violates condition #2"),
    (TWO_WRITERS, lambda s: s.compute_inline("low"), "is not a complete block - it violates condition #1"),
    (TWO_WRITERS, lambda s: s.cache_read("C", 0, "local"), "written by single block, but got 2 blocks"),
    (CHAIN, lambda s: s.cache_read("C", 0, "elsewhere"), "There is no memory 'elsewhere'"),
    (CHAIN, lambda s: s.set_scope("B", 0, "wmma.matrix_c"), "There is no memory 'wmma.matrix_c'"),
    (CHAIN, lambda s: s.cache_read("C", 1, "local"), r"should be in \[0, 1\), got 1"),
    (MATMUL_RELU, lambda s: s.reverse_compute_inline("D"), "is not a complete block"),
    (CHAIN, lambda s: s.reverse_compute_inline("B"), "made within its scope"),
    (BLUR, lambda s: s.reverse_compute_at("C", s.get_loops("B")[0]), "must be read by the iterations of one value"),
    (CHAIN, lambda s: s.compute_at("B", s.get_loops("D")[0]), "requires all the consumer"),
    (CHAIN, lambda s: s.reverse_compute_at("D", s.get_loops("B")[0]), "requires all the producer"),
    (CHAIN, lambda s: s.compute_at("B", s.get_loops("B")[0]), "is an ancestor of block"),
    (CHAIN, lambda s: s.reverse_compute_at("B", s.get_loops("D")[0]), "or after it is needed, by block"),
    (CHAIN, lambda s: s.compute_at("D", s.get_loops("B")[0]), "is an output block"),
    (CHAIN, lambda s: s.decompose_reduction("B", s.get_loops("B")[0]), "is not a reduction block"),
    (MATMUL, lambda s: s.rfactor(s.get_loops("C")[0], 0), "bound to reduction axes"),
    (ROW_MAXIMUM, lambda s: s.rfactor(s.get_loops("C")[1], 3), r"factor_axis must be in \[-2, 1\], got 3"),
    (CHAIN, lambda s: s.storage_align("D", 0, 0, 4, 0), "is not allocated by a block"),
    (CHAIN, lambda s: s.storage_align("B", 0, 2, 4, 0), r"axis must be in \[-2, 2\), got 2"),
    (CHAIN, lambda s: s.storage_align("B", 0, 0, 0, 0), "expected to be a positive number"),
    (CHAIN, lambda s: s.unannotate(s.get_block("B"), "nothing"), "has no annotation 'nothing'"),
    (CHAIN, lambda s: s.get_producers("root"), "does not operate on the root block"),
    (MATMUL, lambda s: s.decompose_padding("C", s.get_loops("C")[0]), "is not a complete block"),
    (CHAIN, lambda s: s.decompose_padding("B", s.get_loops("B")[0]), "whose last value is a constant"),
    (PADDED_CORNER, lambda s: s.decompose_padding("B", s.get_loops("B")[0]), "does not bound its axes one by one"),
    (PADDED_ROWS, lambda s: s.decompose_padding("B", s.get_loops("B")[0]), "no other statement than the nest"),
    (MATMUL, lambda s: s.reindex("root", ("read", 0)), "should be in"),
    (PADDED, lambda s: s.reindex("B", ("read", 0)), "inside of its shape: no condition guards the copy"),
]


@pytest.mark.parametrize(("program", "step", "message"), CASES, ids=[message[:30] for _, _, message in CASES])
def test_a_step_that_is_refused_changes_nothing(program: Program, step: Any, message: str) -> None:
    sch = program.schedule()
    before = sch.mod
    with pytest.raises(ScheduleError, match=message):
        step(sch)
    assert sch.mod is before
    assert all(inst.kind.is_pure for inst in sch.trace.insts)
    sch.state.verify()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda s: s.split(s.get_block("C"), factors=[2]), "must be a loop of the schedule"),
        (lambda s: s.fuse(), "expected loops, got none"),
        (lambda s: s.get_block("C", "other"), "the program has no function 'other'"),
        (lambda s: s.work_on("other"), "no function is named 'other'"),
        (lambda s: s.cache_read("C", "Z", "local"), "block 'C' reads A, B, got 'Z'"),
        (lambda s: s.transform_layout("C", 3, lambda i: i), "buffer must be"),
        (lambda s: s.seed(-3), "non-negative"),
        (lambda s: Schedule(MATMUL.func, error_render_level="loud"), "one of detail, fast, none"),
        (lambda s: Schedule(MATMUL.func, debug_mask="some"), "debug_mask must be"),
        (lambda s: Schedule(tir.PrimFunc([], tir.Evaluate(0))), "must be a root block"),
        (lambda s: s.sample_categorical([1, 2], [1.0]), "2 candidates, got 1 probs"),
        (lambda s: s.sample_perfect_tile(s.get_loops("C")[0], 0), "n must be positive"),
    ],
)
def test_wrong_arguments(step: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        step(MATMUL.schedule())


def test_the_place_is_drawn_into_the_program() -> None:
    sch = CHAIN.schedule()
    with pytest.raises(ScheduleError) as raised:
        sch.compute_at("D", sch.get_loops("B")[0])
    text = str(raised.value).splitlines()
    assert text[0] == "ScheduleError: An error occurred in the schedule primitive 'compute-at'."
    assert text[-1] == "Error message: The block tir.Block#0 is an output block"
    (at,) = [number for number, line in enumerate(text) if line.strip() == "# tir.Block#0"]
    assert text[at + 1].strip() == 'with T.block("D"):'
    assert text[at + 2] == text[at + 1].replace(text[at + 1].strip(), "^" * len(text[at + 1].strip()))
    assert sum("^^^" in line for line in text) == 6


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ("fast", "ScheduleError: compute_at: The block 'D' is an output block"),
        ("none", "ScheduleError: (not rendered)"),
    ],
)
def test_shorter_errors(level: str, message: str) -> None:
    sch = Schedule(CHAIN.func, error_render_level=level)
    with pytest.raises(ScheduleError) as raised:
        sch.compute_at("D", sch.get_loops("B")[0])  # type: ignore[attr-defined]
    assert str(raised.value) == message


def test_what_is_gone_is_known_no_more() -> None:
    sch = CHAIN.schedule()
    block, loop = sch.get_block("B"), sch.get_loops("B")[0]
    sch.compute_inline(block)
    for rv in (block, loop):
        with pytest.raises(ArgumentError, match="no longer exists"):
            sch.get(rv)
    sch.remove_rv(block)
    with pytest.raises(IndexError):
        sch.get(block)
    with pytest.raises(IndexError):
        sch.remove_rv(block)


@pytest.mark.parametrize("axis", ["foo", "threadIdx", "threadIdx.w", "blockIdx.", ""])
def test_a_loop_is_bound_to_threads_alone(axis: str) -> None:
    sch = Schedule(MATMUL.func)
    with pytest.raises(ArgumentError, match=r"bind: expected an axis of threads \(blockIdx.x, threadIdx.x, vthread.x"):
        sch.bind(sch.get_loops("C")[0], axis)


def test_the_name_of_a_buffer_says_its_memory() -> None:
    sch = Schedule(CHAIN.func)
    sch.set_scope("B", 0, "shared")
    assert "B_shared = T.alloc_buffer((" in str(sch.mod)
    assert 'scope="shared")' in str(sch.mod)
    sch.transform_layout("C", ("write", 0), lambda i, j: (j, i))
    assert "pad_value=None, assume_injective_transform=False" in str(sch.trace)
