"""Loops over scalars become statements on vectors, or stay loops where they cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Broadcast, PrimExpr, Select, Var, const
from compiler.tir.expressions import op as tir
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import BufferStore, ForKind, IfThenElse, LetStmt, Stmt, seq
from compiler.tir.transform import VectorizeLoop
from tests.compiler.tir.transform.programs import apply, assert_pass, assert_same, function, loop, program

LANES = 8
FLOATS = "A: T.Buffer((64,), 'float32'), C: T.Buffer((64,), 'float32')"


def test_contiguous_accesses_become_ramps() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            C[j + 8] = A[j + 16] + A[3]
        """,
        """
        C[8:16] = A[16:24] + T.Broadcast(A[3], 8)
        """,
    )


def test_vectors_side_by_side_become_longer_ones() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(4):
            C[j * 4:j * 4 + 4] = A[j * 4 + 8:j * 4 + 12] + T.Broadcast(A[3], 4)
        for j in T.vectorized(4):
            C[j * 8:j * 8 + 8:2] = A[j * 3:j * 3 + 4]
        """,
        """
        C[0:16] = A[8:24] + T.Broadcast(A[3], 16)
        for j in range(4):
            C[j * 8:j * 8 + 8:2] = A[j * 3:j * 3 + 4]
        """,
    )


def test_strided_and_gathered_accesses() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            C[j] = A[j * 3 + 1]
            C[j] = A[40 - j]
            C[j] = A[(j + 5) * 2 - j]
            C[j] = A[j // 2 + 4]
            C[j] = A[T.max(j, 4) + T.min(j * 2, 9)]
        """,
        """
        C[0:8] = A[1:25:3]
        C[0:8] = A[40:32:-1]
        C[0:8] = A[T.Ramp(10, 2, 8) - T.Ramp(0, 1, 8)]
        C[0:8] = A[T.Ramp(0, 1, 8) // T.Broadcast(2, 8) + T.Broadcast(4, 8)]
        C[0:8] = A[T.max(T.Ramp(0, 1, 8), T.Broadcast(4, 8)) + T.min(T.Ramp(0, 2, 8), T.Broadcast(9, 8))]
        """,
    )


def test_a_value_that_is_the_same_in_all_lanes_is_broadcast() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            C[j] = A[5] * 2
        """,
        """
        C[0:8] = T.Broadcast(A[5] * 2, 8)
        """,
    )


def test_a_branch_that_differs_between_lanes_stays_a_loop() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            if j * 3 < 11:
                C[j] = A[j]
            else:
                C[j] = 1
        """,
        """
        for j_s in range(8):
            if j_s * 3 < 11:
                C[j_s] = A[j_s]
            else:
                C[j_s] = 1
        """,
    )


def test_a_branch_that_is_the_same_in_all_lanes_stays_around_vectors() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            if A[0] < 50:
                C[j] = A[j]
        """,
        """
        if A[0] < 50:
            C[0:8] = A[0:8]
        """,
    )


def test_only_the_statement_without_a_vector_form_is_scalar() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            C[j] = A[j]
            if j < 3:
                C[j + 8] = A[j] + 1
        """,
        """
        C[0:8] = A[0:8]
        for j_s in range(8):
            if j_s < 3:
                C[j_s + 8] = A[j_s] + 1
        """,
    )


def test_if_then_else_reads_only_what_it_chooses() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            C[j] = T.if_then_else(j < 4, A[60 + j], 7)
            C[j + 8] = T.if_then_else(A[0] < 200, A[j], 7)
        """,
        """
        for j_s in range(8):
            C[j_s] = T.if_then_else(j_s < 4, A[60 + j_s], 7)
        C[8:16] = T.if_then_else(A[0] < 200, A[0:8], T.Broadcast(7, 8))
        """,
    )


def test_select_takes_vector_conditions() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            C[j] = T.Select(j < 4, A[j], 7)
        """,
        """
        C[0:8] = T.Select(T.Ramp(0, 1, 8) < T.Broadcast(4, 8), A[0:8], T.Broadcast(7, 8))
        """,
    )


def test_a_sum_into_one_element_keeps_its_order() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            C[0] = C[0] + A[j]
            C[1] = C[1] + 1
        """,
        """
        for j_s in range(8):
            C[0] = C[0] + A[j_s]
        for j_s in range(8):
            C[1] = C[1] + 1
        """,
    )


def test_lets_become_vectors() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            t = j * 2 + 1
            u = A[t]
            C[j] = t + u
            if t < 9:
                C[t + 8] = u
        """,
        """
        t: T.int32x8 = T.Ramp(1, 2, 8)
        u: T.int32x8 = A[t]
        C[0:8] = t + u
        for j_s in range(8):
            t_1: T.int32 = j_s * 2 + 1
            u_1: T.int32 = A[t_1]
            if t_1 < 9:
                C[t_1 + 8] = u_1
        """,
    )


def test_let_expressions_become_vectors() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            C[j] = T.Let(t * t, where={t: A[j]})
        """,
        """
        C[0:8] = T.Let(t * t, where={t: A[0:8]})
        """,
    )


def test_each_lane_has_its_own_memory() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            L = T.allocate([4], "int32")
            L_1 = T.Buffer((4,), "int32", data=L)
            for k in range(4):
                L_1[k] = A[j * 4 + k]
            for m in range(4):
                C[j * 4 + m] = L_1[m] + L_1[0]
        """,
        """
        L = T.allocate([32], "int32", "global")
        L_1 = T.Buffer((32,), "int32", data=L)
        for k in range(4):
            L_1[k * 8:k * 8 + 8] = A[k:k + 32:4]
        for m in range(4):
            C[m:m + 32:4] = L_1[m * 8:m * 8 + 8] + L_1[0:8]
        """,
    )


def test_loops_within_stay_around_vectors() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            for k in range(4):
                C[k * 8 + j] = A[k * 8 + j]
        """,
        """
        for k in range(4):
            C[k * 8:k * 8 + 8] = A[k * 8:k * 8 + 8]
        """,
    )


def test_a_loop_whose_extent_differs_between_lanes_stays_scalar() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            for k in range(j + 1):
                C[j] = C[j] + A[k]
        """,
        """
        for j_s in range(8):
            for k in range(j_s + 1):
                C[j_s] = C[j_s] + A[k]
        """,
    )


def test_a_vectorized_loop_within_another_runs_serially() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            for k in T.vectorized(4):
                C[k * 8 + j] = A[k * 8 + j]
        """,
        """
        for k in range(4):
            C[k * 8:k * 8 + 8] = A[k * 8:k * 8 + 8]
        """,
    )


def test_functions_and_casts_take_vectors() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            C[j] = T.sqrt(A[j]) + T.Cast("float32", j) * T.exp(T.float32(0.0))
        """,
        """
        C[0:8] = T.sqrt(A[0:8]) + T.Cast("float32x8", T.Ramp(0, 1, 8)) * T.Broadcast(T.exp(T.float32(0.0)), 8)
        """,
        params=FLOATS,
    )


def test_calls_of_c_functions_stay_scalar() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            T.call_extern("int32", "f", A[j])
        """,
        """
        for j_s in range(8):
            T.call_extern("int32", "f", A[j_s])
        """,
        values=(),
    )


def test_an_assertion_that_differs_between_lanes_stays_scalar() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            assert j < 8, "no"
            C[j] = A[j]
        """,
        """
        for j_s in range(8):
            assert j_s < 8, "no"
            C[j_s] = A[j_s]
        """,
    )


def test_attributes_stay_around_vectors() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(8):
            T.attr(C.data, "fact", 1)
            C[j] = A[j]
        """,
        """
        T.attr(C.data, "fact", 1)
        C[0:8] = A[0:8]
        """,
    )


def test_a_loop_that_does_not_begin_at_zero() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(7, 15):
            C[j] = A[j]
            if j < 10:
                C[j + 20] = A[j] + 1
        """,
        """
        C[7:15] = A[7:15]
        for j_s in range(7, 15):
            if j_s < 10:
                C[j_s + 20] = A[j_s] + 1
        """,
    )


def test_one_iteration_needs_no_vector() -> None:
    assert_pass(
        VectorizeLoop(),
        """
        for j in T.vectorized(1):
            C[j] = A[j]
        """,
        """
        C[0] = A[0]
        """,
    )


def test_an_extent_that_is_not_constant_is_an_error() -> None:
    with pytest.raises(LoweringError, match=r"positive constant, got n \(loop 'j'\)"):
        apply(program("for j in T.vectorized(n):\n    C[j] = 1"), VectorizeLoop())


def test_switched_off_loops_are_serial() -> None:
    before, after = "for j in T.vectorized(8):\n    C[j] = A[j]", "for j in range(8):\n    C[j] = A[j]"
    assert_pass(VectorizeLoop(False), before, after)
    assert_pass(VectorizeLoop(), before, after, config={"tir.disable_vectorize": True})


@st.composite
def lane_bodies(draw: Any) -> Callable[[Var, Buffer, Buffer], Stmt]:
    """Draw statements that read A and write C, each lane to elements of its own."""

    def number(low: int, high: int) -> int:
        return int(draw(st.integers(low, high)))

    def value(scope: list[PrimExpr], a: Buffer, depth: int) -> PrimExpr:
        if depth == 0:
            index = draw(st.sampled_from(scope)) * number(0, 4) + number(0, 9)
            load: PrimExpr = BufferLoad(a, (index % 64,))
            return load if number(0, 2) else index
        x, y = value(scope, a, depth - 1), value(scope, a, depth - 1)
        kind = number(0, 5)
        if kind == 0:
            return Select(x < y, x, y + 1)
        if kind == 1:
            return tir.if_then_else(draw(st.sampled_from(scope)) < number(0, 9), x, y)
        if kind == 2:
            return tir.max(x, y) - tir.min(x, 5)
        return x + y if kind < 5 else x - y * 2

    def statement(scope: list[PrimExpr], j: Var, a: Buffer, c: Buffer, depth: int) -> Stmt:
        kind = number(0, 4) if depth else 0
        if kind == 0:
            return BufferStore(c, value(scope, a, 2), (j * LANES + number(0, 7),))
        if kind == 1:
            return seq([statement(scope, j, a, c, depth - 1) for _ in range(2)])
        if kind == 2:
            condition = draw(st.sampled_from(scope)) < number(0, 9)
            other = statement(scope, j, a, c, depth - 1) if number(0, 1) else None
            return IfThenElse(condition, statement(scope, j, a, c, depth - 1), other)
        if kind == 3:
            t = Var("t")
            return LetStmt(t, value(scope, a, 1), statement([*scope, t], j, a, c, depth - 1))
        k = Var("k")
        return loop(k, 3, statement([*scope, k], j, a, c, depth - 1))

    plans: list[Stmt] = []

    def body(j: Var, a: Buffer, c: Buffer) -> Stmt:
        if not plans:
            plans.append(statement([j, const(2)], j, a, c, 3))
        return plans[0]

    return body


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(body=lane_bodies())
def test_random_bodies_compute_the_same(body: Callable[[Var, Buffer, Buffer], Stmt]) -> None:
    j, a, c = Var("j"), decl_buffer((64,), "int32", name="A"), decl_buffer((64,), "int32", name="C")
    func = function(loop(j, LANES, body(j, a, c), ForKind.VECTORIZED), a, c)
    assert_same(func, apply(func, VectorizeLoop()))


def test_a_constant_vector_is_stored_to_elements_that_are_vectors() -> None:
    b, i = decl_buffer((8,), "float32x4", "b"), Var("i")
    store = BufferStore(b, Broadcast(const(1.0, "float32"), 4), (i,))
    body = apply(function(loop(i, 4, store, ForKind.VECTORIZED), b), VectorizeLoop()).body
    assert isinstance(body, BufferStore)
    assert (body.value.dtype, body.indices[0].dtype) == ("float32x16", "int32x4")
