"""Arithmetic is simplified with what loops, lets, branches and threads tell."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.tir.transform import Simplify
from tests.compiler.tir.transform.programs import apply, assert_pass, program
from tests.growth import assert_linear


def test_the_range_of_a_loop_is_used() -> None:
    assert_pass(
        Simplify(),
        """
        for i, j in T.grid(4, 8):
            C[i * 8 + j % 8] = (i * 8 + j) // 8
        """,
        """
        for i, j in T.grid(4, 8):
            C[i * 8 + j] = i
        """,
    )


def test_a_branch_that_is_always_taken_disappears() -> None:
    assert_pass(
        Simplify(),
        """
        for i in range(8):
            if T.likely(i < 9):
                C[i] = i
            else:
                C[i] = i + 1
        """,
        """
        for i in range(8):
            C[i] = i
        """,
    )


def test_a_branch_that_is_never_taken_leaves_nothing_among_other_statements() -> None:
    assert_pass(
        Simplify(),
        """
        for i in range(8):
            if i > 9:
                C[i] = i
            C[i] = i + 1
        """,
        """
        for i in range(8):
            C[i] = i + 1
        """,
    )


def test_a_branch_that_is_never_taken_leaves_its_else() -> None:
    assert_pass(
        Simplify(),
        """
        for i in range(8):
            if i > 9:
                C[i] = i
            else:
                C[i] = i + 1
        for i in range(8):
            if i > 9:
                C[i] = i
        """,
        """
        for i in range(8):
            C[i] = i + 1
        for i in range(8):
            T.evaluate(0)
        """,
    )


def test_a_condition_holds_within_its_branch_and_its_opposite_in_the_other() -> None:
    assert_pass(
        Simplify(),
        """
        for i in range(8):
            if i < 4:
                C[i] = T.min(i, 3)
            else:
                C[i] = T.max(i, 4)
        """,
        """
        for i in range(8):
            if i < 4:
                C[i] = i
            else:
                C[i] = i
        """,
    )


def test_conditions_add_up() -> None:
    assert_pass(
        Simplify(),
        """
        for i in range(8):
            if i < 6 and i > 2:
                if i < 6:
                    C[i] = 1
        """,
        """
        for i in range(8):
            if i < 6 and 2 < i:
                C[i] = 1
        """,
    )


def test_index_arithmetic_of_a_let_is_written_out() -> None:
    assert_pass(
        Simplify(),
        """
        for i in range(4):
            t = i * 2
            C[t] = t // 2
        """,
        """
        for i in range(4):
            C[i * 2] = i
        """,
    )


def test_a_let_that_reads_memory_stays() -> None:
    assert_pass(
        Simplify(),
        """
        for i in range(4):
            t = C[i]
            C[i] = t + t
        """,
        """
        for i in range(4):
            t = C[i]
            C[i] = t * 2
        """,
    )


def test_a_store_of_an_element_to_itself_disappears() -> None:
    assert_pass(
        Simplify(),
        """
        for i in range(4):
            C[i] = C[i + 1 - 1]
        """,
        """
        for i in range(4):
            T.evaluate(0)
        """,
    )


def test_an_assertion_that_holds_disappears_and_others_help() -> None:
    assert_pass(
        Simplify(),
        """
        for i in range(8):
            with T.Assert(i < 8, "i"):
                A[i] = i
        assert n < 8, "n"
        if n < 9:
            C[n] = 1
        """,
        """
        for i in range(8):
            A[i] = i
        assert n < 8, "n"
        C[n] = 1
        """,
        values=(0, 3),
    )


@pytest.mark.parametrize("thread", ["threadIdx.x", "vthread"])
def test_the_range_of_a_thread_is_used(thread: str) -> None:
    assert_pass(
        Simplify(),
        f"""
        t = T.launch_thread("{thread}", 8)
        C[t % 8] = t + 0
        """,
        f"""
        t = T.launch_thread("{thread}", 8)
        C[t] = t
        """,
        values=(),
    )


def test_bounds_of_loops_and_evaluated_values_are_simplified() -> None:
    assert_pass(
        Simplify(),
        """
        for i in range(n - n, n - n + (n + 2 - 2)):
            T.call_extern("int32", "f", i + 0 * n)
        """,
        """
        for i in range(n):
            T.call_extern("int32", "f", i)
        """,
        values=(),
    )


def test_what_cannot_be_simplified_is_returned_as_it_is() -> None:
    assert_pass(
        Simplify(),
        """
        for i in range(4):
            C[i] = i
        """,
    )


def test_loops_up_to_variables_one_after_the_other_take_linear_time() -> None:
    def simplified(loops: int) -> Callable[[], object]:
        text = """
        for o{0} in range(n + {0}):
            for i{0} in range(o{0}, n):
                if i{0} * 8 + o{0} < n * 8:
                    C[i{0}] = T.min(i{0} + 1, n + o{0})
        """
        func = program("".join(text.format(loop) for loop in range(loops)))
        return lambda: apply(func, Simplify())

    assert_linear(simplified, 30)
