"""Conditions and bindings leave the loops that they do not depend on."""

from __future__ import annotations

from hypothesis import given, settings

from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import ForKind
from compiler.tir.transform import HoistedConditionals, HoistedLetBindings, HoistExpression
from tests.compiler.tir.transform.programs import apply, assert_pass, assert_same, functions


def test_the_condition_of_an_expression_leaves_the_inner_loop() -> None:
    assert_pass(
        HoistExpression(),
        """
        for i, j in T.grid(4, 4):
            C[i * 4 + j] = T.if_then_else(i < n, A[j], i)
        """,
        """
        for i in range(4):
            if i < n:
                for j in range(4):
                    C[i * 4 + j] = A[j]
            else:
                for j in range(4):
                    C[i * 4 + j] = i
        """,
    )


def test_the_parts_of_a_condition_leave_as_far_as_each_can() -> None:
    assert_pass(
        HoistExpression(),
        """
        for i, j, k in T.grid(4, 4, 4):
            if i < n and j + 1 < n:
                C[i * 16 + j * 4 + k] = A[k]
        """,
        """
        for i in range(4):
            if i < n:
                for j in range(4):
                    if j + 1 < n:
                        for k in range(4):
                            C[i * 16 + j * 4 + k] = A[k]
        """,
    )


def test_flags_say_what_moves() -> None:
    text = """
        for i, j in T.grid(4, 4):
            C[i * 4 + j] = T.if_then_else(i < n, A[j], i)
        """
    assert_pass(HoistExpression(int(HoistedConditionals.IfElseStmt)), text)
    config = {"tir.HoistExpression": {"hoisted_conditionals": HoistedConditionals.Never}}
    assert_pass(HoistExpression(), text, config=config)


def test_a_binding_leaves_with_the_condition_that_needs_it() -> None:
    assert_pass(
        HoistExpression(hoisted_let_bindings=int(HoistedLetBindings.RequiredByConditional)),
        """
        for i, j in T.grid(4, 4):
            with T.LetStmt(A[i]) as x:
                with T.LetStmt(i < n) as holds:
                    if holds:
                        C[i * 4 + j] = x
        """,
        """
        for i in range(4):
            with T.LetStmt(i < n) as holds:
                if holds:
                    for j in range(4):
                        with T.LetStmt(A[i]) as x:
                            C[i * 4 + j] = x
        """,
    )


def test_a_binding_around_the_loop_stays_where_others_use_it() -> None:
    assert_pass(
        HoistExpression(),
        """
        for i in range(4):
            with T.LetStmt(i * 3) as x:
                C[x] = i
                for j in range(4):
                    if x * 2 < n:
                        C[j + 16] = x
        """,
        """
        for i in range(4):
            C[i * 3] = i
            if i * 6 < n:
                for j in range(4):
                    C[j + 16] = i * 3
        """,
    )


def test_nothing_leaves_past_what_runs_before_it() -> None:
    assert_pass(
        HoistExpression(),
        """
        for i in range(4):
            C[i] = i
            if n < 5:
                C[i + 4] = i
        """,
    )


@settings(max_examples=10, deadline=None)
@given(functions((ForKind.SERIAL,)))
def test_random_programs_compute_the_same(func: PrimFunc) -> None:
    for value in (0, 4, 11):
        assert_same(func, apply(func, HoistExpression()), scalars={"n": value})
