"""Loops over scalars become statements on vectors, or stay loops where they cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.ir.error import LoweringError
from compiler.ir.primexpr import Broadcast, Let, PrimExpr, Ramp, Select, Var, cast, const, convert
from compiler.tir import op as tir
from compiler.tir.buffer import Buffer, BufferLoad, decl_buffer
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    seq,
)
from compiler.tir.transform import VectorizeLoop
from tests.compiler.tir.transform.programs import allocate, apply, assert_same, function, loop, nodes

LANES = 8


def vector_function(body: Callable[[Var, Buffer, Buffer], Stmt], dtype: str = "int32") -> PrimFunc:
    """Return a function with a vectorized loop of 8 over a body that reads A and writes C."""
    j, a, c = Var("j"), decl_buffer((64,), dtype, name="A"), decl_buffer((64,), dtype, name="C")
    return function(loop(j, LANES, body(j, a, c), ForKind.VECTORIZED), a, c)


def vectorized(body: Callable[[Var, Buffer, Buffer], Stmt], dtype: str = "int32") -> PrimFunc:
    """Vectorize such a function and check that it still computes the same."""
    func = vector_function(body, dtype)
    after = apply(func, VectorizeLoop())
    assert_same(func, after)
    return after


def test_contiguous_accesses_become_ramps() -> None:
    after = vectorized(lambda j, a, c: BufferStore(c, a[j + 16] + a[3], (j + 8,)))
    (store,) = nodes(after, BufferStore)
    assert not nodes(after, For)
    assert isinstance(store.indices[0], Ramp)
    assert store.value.dtype == "int32x8"
    assert isinstance(store.value.b, Broadcast)


@pytest.mark.parametrize(
    "index",
    [
        lambda j: j * 3 + 1,
        lambda j: 40 - j,
        lambda j: (j + 5) * 2 - j,
        lambda j: j // 2 + 4,
        lambda j: j % 3 * 5,
        lambda j: tir.max(j, 4) + tir.min(j * 2, 9),
    ],
)
def test_strided_and_gathered_accesses(index: Callable[[Var], PrimExpr]) -> None:
    after = vectorized(lambda j, a, c: BufferStore(c, a[index(j)], (j,)))
    assert not nodes(after, For)


def test_a_value_that_is_the_same_in_all_lanes_is_broadcast() -> None:
    after = vectorized(lambda j, a, c: BufferStore(c, a[5] * 2, (j,)))
    (store,) = nodes(after, BufferStore)
    assert isinstance(store.value, Broadcast)


def test_a_branch_that_differs_between_lanes_stays_a_loop() -> None:
    after = vectorized(
        lambda j, a, c: IfThenElse(j * 3 < 11, BufferStore(c, a[j], (j,)), BufferStore(c, const(1), (j,)))
    )
    (lanes,) = nodes(after, For)
    assert lanes.kind == ForKind.SERIAL
    assert lanes.loop_var.name == "j.s"
    assert isinstance(lanes.body, IfThenElse)


def test_a_branch_that_is_the_same_in_all_lanes_is_kept_around_vectors() -> None:
    after = vectorized(lambda j, a, c: IfThenElse(a[0] < 50, BufferStore(c, a[j], (j,))))
    assert isinstance(after.body, IfThenElse)
    assert not nodes(after, For)


def test_only_the_statement_without_a_vector_form_is_scalar() -> None:
    def body(j: Var, a: Buffer, c: Buffer) -> Stmt:
        return seq([BufferStore(c, a[j], (j,)), IfThenElse(j < 3, BufferStore(c, a[j] + 1, (j + 8,)))])

    after = vectorized(body)
    assert len(nodes(after, For)) == 1
    assert len([s for s in nodes(after, BufferStore) if isinstance(s.indices[0], Ramp)]) == 1


def test_if_then_else_reads_only_what_it_chooses() -> None:
    """Lane by lane: the other side would be outside of the buffer."""
    after = vectorized(lambda j, a, c: BufferStore(c, tir.if_then_else(j < 4, a[60 + j], 7), (j,)))
    assert len(nodes(after, For)) == 1
    same = vectorized(lambda j, a, c: BufferStore(c, tir.if_then_else(a[0] < 200, a[j], 7), (j,)))
    assert not nodes(same, For)


def test_select_takes_vector_conditions() -> None:
    after = vectorized(lambda j, a, c: BufferStore(c, Select(j < 4, a[j], const(7)), (j,)))
    (select,) = nodes(after, Select)
    assert select.condition.dtype == "boolx8"


def test_a_sum_into_one_element_keeps_its_order() -> None:
    after = vectorized(lambda j, a, c: BufferStore(c, c[0] + a[j], (const(0),)))
    assert len(nodes(after, For)) == 1
    after = vectorized(lambda j, a, c: BufferStore(c, c[0] + 1, (const(0),)))
    assert len(nodes(after, For)) == 1


def test_lets_become_vectors() -> None:
    def body(j: Var, a: Buffer, c: Buffer) -> Stmt:
        t, u = Var("t"), Var("u")
        inner = seq(
            [
                BufferStore(c, t + u, (j,)),
                IfThenElse(t < 9, BufferStore(c, u, (t + 8,))),
            ]
        )
        return LetStmt(t, j * 2 + 1, LetStmt(u, a[t], inner))

    after = vectorized(body)
    assert [n.var.dtype for n in nodes(after, LetStmt)].count("int32x8") == 2


def test_let_expressions_become_vectors() -> None:
    t = Var("t")
    after = vectorized(lambda j, a, c: BufferStore(c, Let(t, a[j], t * t), (j,)))
    (let,) = nodes(after, Let)
    assert let.dtype == "int32x8"


def test_each_lane_has_its_own_memory() -> None:
    def body(j: Var, a: Buffer, c: Buffer) -> Stmt:
        local, k, m = decl_buffer((4,), "int32", name="L"), Var("k"), Var("m")
        fill = loop(k, 4, BufferStore(local, a[j * 4 + k], (k,)))
        use = loop(m, 4, BufferStore(c, local[m] + local[0], (j * 4 + m,)))
        return allocate(local, seq([fill, use]))

    after = vectorized(body)
    (memory,) = nodes(after, Allocate)
    assert memory.extents[0].value == 4 * LANES
    assert all(isinstance(s.indices[0], Ramp) for s in nodes(after, BufferStore))


def test_loops_within_stay_around_vectors() -> None:
    k = Var("k")
    after = vectorized(lambda j, a, c: loop(k, 4, BufferStore(c, a[k * 8 + j], (k * 8 + j,))))
    assert [n.loop_var for n in nodes(after, For)] == [k]


def test_a_loop_whose_extent_differs_between_lanes_stays_scalar() -> None:
    k = Var("k")
    after = vectorized(lambda j, a, c: For(k, 0, j + 1, ForKind.SERIAL, BufferStore(c, c[j] + a[k], (j,))))
    assert len(nodes(after, For)) == 2


def test_a_vectorized_loop_within_another_runs_serially() -> None:
    k = Var("k")
    after = vectorized(lambda j, a, c: loop(k, 4, BufferStore(c, a[k * 8 + j], (k * 8 + j,)), ForKind.VECTORIZED))
    assert [n.kind for n in nodes(after, For)] == [ForKind.SERIAL]


def test_functions_and_casts_take_vectors() -> None:
    def body(j: Var, a: Buffer, c: Buffer) -> Stmt:
        return BufferStore(c, tir.sqrt(a[j]) + cast("float32", j) * tir.exp(const(0.0)), (j,))

    (store,) = nodes(vectorized(body, "float32"), BufferStore)
    assert store.value.dtype == "float32x8"


def test_calls_of_c_functions_stay_scalar() -> None:
    func = vector_function(lambda j, a, c: Evaluate(tir.call_extern("int32", "f", a[j])))
    (lanes,) = nodes(apply(func, VectorizeLoop()), For)
    assert lanes.kind == ForKind.SERIAL


def test_an_assertion_that_differs_between_lanes_stays_scalar() -> None:
    after = vectorized(lambda j, a, c: AssertStmt(j < 8, convert("no"), BufferStore(c, a[j], (j,))))
    assert len(nodes(after, For)) == 1


def test_attributes_stay_around_vectors() -> None:
    after = vectorized(lambda j, a, c: AttrStmt(c.data, "fact", const(1), BufferStore(c, a[j], (j,))))
    assert isinstance(after.body, AttrStmt)


def test_a_loop_that_does_not_begin_at_zero() -> None:
    j, a, c = Var("j"), decl_buffer((64,), "int32", name="A"), decl_buffer((64,), "int32", name="C")
    body = seq([BufferStore(c, a[j], (j,)), IfThenElse(j < 10, BufferStore(c, a[j] + 1, (j + 20,)))])
    func = function(For(j, 7, 8, ForKind.VECTORIZED, body), a, c)
    assert_same(func, apply(func, VectorizeLoop()))


def test_one_iteration_needs_no_vector() -> None:
    j, a, c = Var("j"), decl_buffer((64,), "int32", name="A"), decl_buffer((64,), "int32", name="C")
    after = apply(function(loop(j, 1, BufferStore(c, a[j], (j,)), ForKind.VECTORIZED), a, c), VectorizeLoop())
    assert isinstance(after.body, BufferStore)
    assert after.body.value.dtype == "int32"


def test_an_extent_that_is_not_constant_is_an_error() -> None:
    j, n, c = Var("j"), Var("n"), decl_buffer((64,), "int32", name="C")
    func = function(loop(j, n, BufferStore(c, const(1), (j,)), ForKind.VECTORIZED), c, scalars=(n,))
    with pytest.raises(LoweringError, match=r"positive constant, got n \(loop 'j'\)"):
        apply(func, VectorizeLoop())


def test_switched_off_loops_are_serial() -> None:
    func = vector_function(lambda j, a, c: BufferStore(c, a[j], (j,)))
    for after in (
        apply(func, VectorizeLoop(False)),
        apply(func, VectorizeLoop(), config={"tir.disable_vectorize": True}),
    ):
        assert [n.kind for n in nodes(after, For)] == [ForKind.SERIAL]


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


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=lane_bodies())
def test_random_bodies_compute_the_same(body: Callable[[Var, Buffer, Buffer], Stmt]) -> None:
    vectorized(body)
