"""Removing, hoisting, narrowing, checking: the small passes."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.ir.primexpr import Broadcast, Call, Ramp, Select, Var, const, convert
from compiler.tir import op as tir
from compiler.tir.buffer import decl_buffer
from compiler.tir.function import PrimFunc
from compiler.tir.interpreter import AssertionFailed, OutOfBounds, interpret
from compiler.tir.stmt import (
    AssertStmt,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    is_no_op,
    no_op,
    seq,
)
from compiler.tir.transform import (
    Apply,
    Filter,
    HoistIfThenElse,
    InsertHoistIfThenElse,
    InstrumentBoundCheckers,
    NarrowDataType,
    RemoveNoOp,
    RewriteUnsafeSelect,
    SkipAssert,
)
from tests.compiler.tir.transform.programs import allocate, apply, assert_same, function, loop, nodes

A, C = decl_buffer((64,), "int32", name="A"), decl_buffer((64,), "int32", name="C")
i, j, n = Var("i"), Var("j"), Var("n")
EFFECT = Evaluate(tir.call_extern("int32", "f", 1))


@pytest.mark.parametrize(
    "stmt",
    [
        loop(i, 4, no_op()),
        loop(i, 0, BufferStore(C, i, (i,))),
        loop(i, 4, loop(j, 0, BufferStore(C, i, (j,)))),
        IfThenElse(n < 3, no_op()),
        IfThenElse(const(False), BufferStore(C, n, (n,))),
        LetStmt(i, n * 2, no_op()),
        Evaluate(n + 1),
        BufferStore(C, C[n], (n,)),
        AttrStmt(C.data, "fact", const(1), no_op()),
        allocate(decl_buffer((4,), "int32", name="L"), no_op()),
    ],
)
def test_what_does_nothing_disappears(stmt: Stmt) -> None:
    assert is_no_op(apply(function(stmt, C, scalars=(n,)), RemoveNoOp()).body)
    func = function(seq([BufferStore(C, const(1), (const(0),)), stmt]), C, scalars=(n,))
    after = apply(func, RemoveNoOp())
    assert isinstance(after.body, BufferStore)
    assert_same(function(after.body, C, scalars=(n,)), func, scalars={"n": 2})


@pytest.mark.parametrize(
    "stmt",
    [
        EFFECT,
        loop(i, 4, EFFECT),
        LetStmt(i, n, BufferStore(C, i, (const(0),))),
        BufferStore(C, C[n], (n + 1,)),
        BufferStore(C, A[n], (n,)),
        IfThenElse(n < 3, no_op(), EFFECT),
    ],
)
def test_what_does_something_stays(stmt: Stmt) -> None:
    func = function(stmt, A, C, scalars=(n,))
    assert apply(func, RemoveNoOp()) is func


def test_a_value_with_an_effect_outlives_its_let() -> None:
    after = apply(function(LetStmt(i, EFFECT.value, no_op()), C), RemoveNoOp())
    assert isinstance(after.body, Evaluate)
    after = apply(function(IfThenElse(EFFECT.value > 0, no_op()), C), RemoveNoOp())
    assert isinstance(after.body, Evaluate)


def test_a_select_that_loads_becomes_a_choice() -> None:
    stores = [
        BufferStore(C, Select(i < 2, A[i], const(0)), (i,)),
        BufferStore(C, Select(i < 2, i, const(0)), (i + 8,)),
        BufferStore(C, Select(i < 2, tir.if_then_else(i < 1, A[i], 0), i), (i + 16,)),
    ]
    func = function(loop(i, 8, seq(stores)), A, C)
    after = apply(func, RewriteUnsafeSelect())
    assert [isinstance(s.value, Select) for s in nodes(after, BufferStore)] == [False, True, True]
    assert_same(func, after)


def test_a_guarded_load_out_of_bounds_is_made_safe() -> None:
    func = function(loop(i, 8, BufferStore(C, Select(i < 4, A[i + 60], const(0)), (i,))), A, C)
    with pytest.raises(OutOfBounds):
        interpret(func, [np.zeros(64, "int32"), np.zeros(64, "int32")])
    interpret(apply(func, RewriteUnsafeSelect()), [np.zeros(64, "int32"), np.zeros(64, "int32")])


def test_a_vector_select_stays() -> None:
    lanes = Ramp(const(0), const(1), 4)
    select = Select(lanes < Broadcast(n, 4), A[lanes], Broadcast(const(0), 4))
    func = function(BufferStore(C, select, (lanes,)), A, C, scalars=(n,))
    assert apply(func, RewriteUnsafeSelect()).body is func.body


def hoisted(body: Stmt) -> PrimFunc:
    func = function(body, A, C, scalars=(n,))
    after = apply(func, HoistIfThenElse())
    for value in (0, 3, 9):
        assert_same(func, after, scalars={"n": value})
    return after


def test_a_branch_leaves_loops_that_it_does_not_depend_on() -> None:
    after = hoisted(loop(i, 4, loop(j, 4, IfThenElse(i < n, BufferStore(C, i + j, (i * 4 + j,))))))
    assert isinstance(after.body, For)
    assert isinstance(after.body.body, IfThenElse)
    assert isinstance(hoisted(loop(i, 4, IfThenElse(n < 5, BufferStore(C, i, (i,))))).body, IfThenElse)


def test_an_inner_branch_leaves_through_an_outer_one() -> None:
    inner = IfThenElse(n < 5, BufferStore(C, i, (i,)))
    after = hoisted(loop(i, 4, IfThenElse(i < n, inner)))
    assert isinstance(after.body, IfThenElse)
    assert isinstance(after.body.then_case, For)


def test_a_branch_with_an_else_doubles_the_loop() -> None:
    branch = IfThenElse(n < 5, BufferStore(C, i, (i,)), BufferStore(C, i + 1, (i,)))
    after = hoisted(loop(i, 4, branch))
    assert isinstance(after.body, IfThenElse)
    assert len(nodes(after, For)) == 2
    kept = hoisted(loop(i, 4, IfThenElse(i < 2, IfThenElse(n < 5, branch, BufferStore(C, n, (i,))))))
    assert isinstance(kept.body, IfThenElse)


def test_a_branch_leaves_an_allocation() -> None:
    local = decl_buffer((4,), "int32", name="L")
    body = seq([BufferStore(local, i, (const(0),)), BufferStore(C, local[0], (i,))])
    assert isinstance(hoisted(loop(i, 4, allocate(local, IfThenElse(n < 5, body)))).body, IfThenElse)


def test_branches_that_read_or_could_fail_or_stand_beside_others_stay() -> None:
    for body in (
        IfThenElse(A[n] < 5, BufferStore(C, i, (i,))),
        IfThenElse(7 // n < 5, BufferStore(C, i, (i,))),
        seq([BufferStore(C, i, (i,)), IfThenElse(n < 5, BufferStore(C, i, (i + 4,)))]),
    ):
        func = function(loop(i, 4, body), A, C, scalars=(n,))
        assert isinstance(apply(func, HoistIfThenElse()).body, For)


def test_the_variants_have_their_names() -> None:
    assert HoistIfThenElse().info.name == "tir.HoistIfThenElse"
    assert HoistIfThenElse("basic").info.name == "tir.HoistIfThenElseBasic"
    assert InsertHoistIfThenElse().info.name == "tir.InsertHoistIfThenElse"
    with pytest.raises(ArgumentError, match="variant must be None or 'basic', got 'fast'"):
        HoistIfThenElse("fast")


def wide(extent: int, scale: int = 1) -> PrimFunc:
    i = Var("i", "int64")
    size = const(64, "int64")
    a, c = decl_buffer((size,), "int32", name="A"), decl_buffer((size,), "int32", name="C")
    value = a[i * scale % 64] + 1
    return function(
        For(i, const(0, "int64"), const(extent, "int64"), ForKind.SERIAL, BufferStore(c, value, (i,))), a, c
    )


def test_indices_that_fit_are_narrowed() -> None:
    func = wide(64)
    after = apply(func, NarrowDataType(32))
    (for_loop,) = nodes(after, For)
    assert for_loop.loop_var.dtype == for_loop.extent.dtype == "int32"
    assert nodes(after, BufferStore)[0].indices[0].dtype == "int32"
    assert_same(func, after)


def test_indices_whose_intermediate_results_do_not_fit_stay() -> None:
    func = wide(64, 1 << 40)
    after = apply(func, NarrowDataType(32))
    assert nodes(after, For)[0].loop_var.dtype == "int64"
    assert_same(func, after)
    assert nodes(apply(wide(200), NarrowDataType(8)), For)[0].loop_var.dtype == "int64"


def test_a_value_that_is_stored_keeps_its_type() -> None:
    i = Var("i", "int64")
    c = decl_buffer((64,), "int64", name="C")
    func = function(For(i, const(0, "int64"), const(64, "int64"), ForKind.SERIAL, BufferStore(c, i * i, (i,))), c)
    after = apply(func, NarrowDataType(32))
    assert nodes(after, BufferStore)[0].value.dtype == "int64"
    assert_same(func, after)


def test_narrow_indices_are_left_alone() -> None:
    func = function(loop(i, 4, BufferStore(C, i, (i,))), C)
    assert apply(func, NarrowDataType(32)) is func


def test_the_width_must_be_one_of_an_integer() -> None:
    with pytest.raises(ArgumentError, match="target_bits must be 8, 16, 32 or 64, got 24"):
        NarrowDataType(24)


def test_accesses_are_checked_at_run_time() -> None:
    func = function(loop(i, 8, BufferStore(C, A[i + n], (i,))), A, C, scalars=(n,))
    after = apply(func, InstrumentBoundCheckers())
    assert_same(func, after, scalars={"n": 56})
    with pytest.raises(AssertionFailed, match="OUT OF THE BOUNDS"):
        interpret(after, [np.zeros(64, "int32"), np.zeros(64, "int32"), 57])
    with pytest.raises(AssertionFailed):
        interpret(after, [np.zeros(64, "int32"), np.zeros(64, "int32"), -1])


def test_a_vector_access_is_checked_at_both_ends() -> None:
    for stride in (1, -2):
        lanes = Ramp(n, const(stride), 8)
        func = function(BufferStore(C, A[lanes], (Ramp(const(0), const(1), 8),)), A, C, scalars=(n,))
        after = apply(func, InstrumentBoundCheckers())
        assert_same(func, after, scalars={"n": 20})
        for outside in (-1, 64):
            with pytest.raises(AssertionFailed):
                interpret(after, [np.zeros(64, "int32"), np.zeros(64, "int32"), outside])


def test_what_is_not_read_is_not_checked() -> None:
    choice = tir.if_then_else(n < 4, A[n + 60], 0)
    func = function(IfThenElse(A[n] < 1000, BufferStore(C, choice, (const(0),))), A, C, scalars=(n,))
    after = apply(func, InstrumentBoundCheckers())
    assert len(nodes(after, AssertStmt)) == 2
    assert [c for c in nodes(after, Call) if c.op.name == "tir.if_then_else"]
    assert_same(func, after, scalars={"n": 9})


def test_assertions_are_left_out() -> None:
    func = function(AssertStmt(n < 4, convert("n"), BufferStore(C, n, (n,))), C, scalars=(n,))
    after = apply(func, SkipAssert())
    assert isinstance(after.body, BufferStore)
    assert apply(after, SkipAssert()) is after


def test_plain_functions_make_passes() -> None:
    func = function(BufferStore(C, const(1), (const(0),)), C)
    assert apply(func, Apply(lambda f: f.with_attr("mark", 1))).attrs["mark"] == 1
    mod = IRModule({"a": func.with_attr("keep", 1), "b": func})
    assert [var.name_hint for var in Filter(lambda f: "keep" in f.attrs)(mod)] == ["a"]
    for make in (Apply, Filter):
        with pytest.raises(ArgumentError, match="must be callable, got 3"):
            make(3)  # type: ignore[arg-type]
