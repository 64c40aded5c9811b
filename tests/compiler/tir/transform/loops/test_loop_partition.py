"""Loops are cut where their guards change, and the middle runs without them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.ir.error import ArgumentError
from compiler.tir.statements.stmt import For, IfThenElse
from compiler.tir.transform import LoopPartition
from tests.compiler.tir.transform.programs import apply, assert_pass, assert_same, nodes, program

HANDLES = "a: T.handle, c: T.handle, n: T.int32"


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_a_symbolic_loop_gets_a_middle_without_guard(kind: str) -> None:
    buffers = """
    A = T.match_buffer(a, (n,), "int32")
    C = T.match_buffer(c, (n,), "int32")"""
    assert_pass(
        LoopPartition(),
        f"""{buffers}
    for io in T.{kind}((n + 7) // 8):
        for ii in range(8):
            if T.likely(io * 8 + ii < n):
                C[io * 8 + ii] = A[io * 8 + ii]
        """,
        f"""{buffers}
    for io in T.{kind}(n // 8):
        for ii in range(8):
            C[io * 8 + ii] = A[io * 8 + ii]
    for io in T.{kind}((n % 8 + 7) // 8):
        for ii in range(8):
            if (io + n // 8) * 8 + ii < n:
                C[(io + n // 8) * 8 + ii] = A[(io + n // 8) * 8 + ii]
        """,
        params=HANDLES,
        values=(1, 7, 8, 9, 16, 31),
    )


def test_constant_loops_are_left_whole_unless_asked() -> None:
    assert_pass(
        LoopPartition(),
        """
        for io in range(4):
            for ii in range(16):
                if T.likely(io * 16 + ii < 50):
                    C[io * 16 + ii] = A[io * 16 + ii] + 1
        """,
        """
        for io, ii in T.grid(4, 16):
            if io * 16 + ii < 50:
                C[io * 16 + ii] = A[io * 16 + ii] + 1
        """,
    )


def test_a_constant_loop_is_cut_on_request() -> None:
    assert_pass(
        LoopPartition(partition_const_loop=True),
        """
        for io in range(4):
            for ii in range(16):
                if T.likely(io * 16 + ii < 50):
                    C[io * 16 + ii] = A[io * 16 + ii] + 1
        """,
        """
        for io, ii in T.grid(3, 16):
            C[io * 16 + ii] = A[io * 16 + ii] + 1
        for ii in range(2):
            C[T.Mul(3, 16) + ii] = A[T.Mul(3, 16) + ii] + 1
        """,
    )


def test_a_loop_with_the_hint_is_cut() -> None:
    assert_pass(
        LoopPartition(),
        """
        T.attr("", "pragma_loop_partition_hint", 1)
        for io in range(4):
            for ii in range(16):
                if T.likely(io * 16 + ii < 50):
                    C[io * 16 + ii] = A[io * 16 + ii] + 1
        """,
        """
        for io, ii in T.grid(3, 16):
            C[io * 16 + ii] = A[io * 16 + ii] + 1
        for ii in range(16):
            if T.Mul(3, 16) + ii < 50:
                C[T.Mul(3, 16) + ii] = A[T.Mul(3, 16) + ii] + 1
        """,
    )


def test_a_guard_from_below_and_one_from_above() -> None:
    assert_pass(
        LoopPartition(partition_const_loop=True),
        """
        for i in range(50):
            C[i] = T.if_then_else(T.likely(i >= 5) and T.likely(i < 45), A[i - 5], 0)
        """,
        """
        for i in range(5):
            C[i] = 0
        for i in range(40):
            C[i + 5] = A[i + 5 - 5]
        for i in range(5):
            C[i + 45] = 0
        """,
    )


def test_guards_of_two_loops() -> None:
    assert_pass(
        LoopPartition(partition_const_loop=True),
        """
        for yo, xo, yi, xi in T.grid(3, 2, 4, 4):
            if T.likely(yo * 4 + yi < 10):
                if T.likely(xo * 4 + xi < 6):
                    C[(yo * 4 + yi) * 6 + (xo * 4 + xi)] = A[yo * 4 + yi]
        """,
        """
        for yo in range(2):
            for yi, xi in T.grid(4, 4):
                C[(yo * 4 + yi) * 6 + (T.Mul(0, 4) + xi)] = A[yo * 4 + yi]
            for yi, xi in T.grid(4, 2):
                C[(yo * 4 + yi) * 6 + (T.Mul(1, 4) + xi)] = A[yo * 4 + yi]
        for yi, xi in T.grid(2, 4):
            C[(T.Mul(2, 4) + yi) * 6 + (T.Mul(0, 4) + xi)] = A[T.Mul(2, 4) + yi]
        for yi, xi in T.grid(2, 2):
            C[(T.Mul(2, 4) + yi) * 6 + (T.Mul(1, 4) + xi)] = A[T.Mul(2, 4) + yi]
        """,
    )


def test_a_guard_that_reads_memory_stays() -> None:
    assert_pass(
        LoopPartition(),
        """
        for i in range(n):
            if T.likely(i < A[i]):
                C[i] = 1
        """,
        """
        for i in range(n):
            if i < A[i]:
                C[i] = 1
        """,
    )


def test_a_loop_that_is_written_out_keeps_its_constant_extent() -> None:
    assert_pass(
        LoopPartition(partition_const_loop=True),
        """
        for i in T.unroll(8):
            if T.likely(i < n):
                C[i] = 1
        for i in T.vectorized(8):
            if T.likely(i < n):
                C[i + 8] = 1
        """,
        """
        for i in T.unroll(8):
            if i < n:
                C[i] = 1
        for i in T.vectorized(8):
            if i < n:
                C[i + 8] = 1
        """,
    )


@given(extent=st.integers(1, 40), inner=st.integers(1, 12), surplus=st.integers(0, 3))
def test_every_element_is_computed_once(extent: int, inner: int, surplus: int) -> None:
    func = program(
        f"""
        for io, ii in T.grid({(extent + inner - 1) // inner + surplus}, {inner}):
            if T.likely(io * {inner} + ii < {extent}):
                C[io * {inner} + ii] = A[io * {inner} + ii] + 1
        """
    )
    after = apply(func, LoopPartition(partition_const_loop=True))
    assert not nodes(after, IfThenElse)
    assert_same(func, after, scalars={"n": 0})


def test_a_context_gives_the_options() -> None:
    cut = "for i in range(8):\n    if T.likely(i < 8):\n        C[i] = 1"
    config = {"tir.LoopPartition": {"partition_const_loop": True}}
    assert_pass(LoopPartition(), cut, "for i in range(8):\n    C[i] = 1", config=config)
    with pytest.raises(ArgumentError, match=r"tir.LoopPartition: there is no option 'partition_const'"):
        apply(program(cut), LoopPartition(), config={"tir.LoopPartition": {"partition_const": True}})


def test_blocks_of_threads_are_told_apart_by_a_branch() -> None:
    assert_pass(
        LoopPartition(),
        """
        with T.launch_thread("blockIdx.x", (n + 7) // 8) as bx:
            with T.launch_thread("threadIdx.x", 8) as tx:
                if T.likely(bx * 8 + tx < n):
                    C[bx * 8 + tx] = A[bx * 8 + tx]
        """,
        """
        with T.launch_thread("blockIdx.x", (n + 7) // 8) as bx:
            with T.launch_thread("threadIdx.x", 8) as tx:
                if bx < n // 8:
                    C[bx * 8 + tx] = A[bx * 8 + tx]
                else:
                    if bx * 8 + tx < n:
                        C[bx * 8 + tx] = A[bx * 8 + tx]
        """,
        values=(),
    )


def test_a_loop_within_a_thread_is_cut_alike_for_all_threads() -> None:
    func = program(
        """
        with T.launch_thread("threadIdx.x", 8) as tx:
            for i in range(n):
                if T.likely(i * 8 + tx < 61):
                    C[i * 8 + tx] = A[i * 8 + tx]
        """
    )
    first, second = nodes(apply(func, LoopPartition()), For)
    assert not nodes(first, IfThenElse)
    assert nodes(second, IfThenElse)
    assert "min(n, 7)" in str(first.extent)


def test_a_hint_needs_no_marked_conditions() -> None:
    assert_pass(
        LoopPartition(),
        """
        with T.attr(0, "pragma_loop_partition_hint", 1):
            for i in range(64):
                C[i] = T.if_then_else(i < 20, A[i], n)
        """,
        """
        for i in range(20):
            C[i] = A[i]
        for i in range(44):
            C[i + 20] = n
        """,
    )


def test_what_only_evaluates_a_value_is_cut_as_well() -> None:
    func = program("for i in range(n):\n    T.evaluate(T.Select(T.likely(i < 5), n, 3))")
    assert len(nodes(apply(func, LoopPartition()), For)) == 2


def test_a_loop_of_one_iteration_stays_where_something_is_stated_of_it() -> None:
    assert_pass(
        LoopPartition(partition_const_loop=True),
        """
        for i in T.serial(10, annotations={"pragma_x": 1}):
            if T.likely(i < 1):
                C[i] = A[0]
            else:
                C[i] = A[i - 1]
        """,
        """
        for i in T.serial(1, annotations={"pragma_x": 1}):
            C[i] = A[0]
        for i in T.serial(9, annotations={"pragma_x": 1}):
            C[i + 1] = A[i + 1 - 1]
        """,
    )
