"""Arithmetic is simplified with what loops, lets, branches and threads tell."""

from __future__ import annotations

from compiler.ir.primexpr import And, IterVar, Range, Var, const, convert
from compiler.tir import op as tir
from compiler.tir.buffer import decl_buffer
from compiler.tir.stmt import AssertStmt, AttrStmt, BufferStore, Evaluate, For, ForKind, IfThenElse, LetStmt, is_no_op
from compiler.tir.transform import Simplify
from tests.compiler.tir.transform.programs import apply, assert_same, function, loop, nodes

C = decl_buffer((64,), "int32", name="C")
i, j = Var("i"), Var("j")


def test_the_range_of_a_loop_is_used() -> None:
    func = function(loop(i, 4, loop(j, 8, BufferStore(C, (i * 8 + j) // 8, (i * 8 + j % 8,)))), C)
    after = apply(func, Simplify())
    (store,) = nodes(after, BufferStore)
    assert store.value is i
    assert str(store.indices[0]) == "i * 8 + j"
    assert_same(func, after)


def test_a_branch_that_is_always_taken_disappears() -> None:
    func = function(loop(i, 8, IfThenElse(tir.likely(i < 9), BufferStore(C, i, (i,)), BufferStore(C, i + 1, (i,)))), C)
    after = apply(func, Simplify())
    assert not nodes(after, IfThenElse)
    assert_same(func, after)


def test_a_branch_that_is_never_taken_leaves_its_else() -> None:
    func = function(loop(i, 8, IfThenElse(i > 9, BufferStore(C, i, (i,)), BufferStore(C, i + 1, (i,)))), C)
    assert str(nodes(apply(func, Simplify()), BufferStore)[0].value) == "i + 1"
    alone = function(loop(i, 8, IfThenElse(i > 9, BufferStore(C, i, (i,)))), C)
    assert is_no_op(nodes(apply(alone, Simplify()), For)[0].body)


def test_a_condition_holds_within_its_branch_and_its_opposite_in_the_other() -> None:
    body = IfThenElse(i < 4, BufferStore(C, tir.min(i, 3), (i,)), BufferStore(C, tir.max(i, 4), (i,)))
    func = function(loop(i, 8, body), C)
    after = apply(func, Simplify())
    assert [n.value for n in nodes(after, BufferStore)] == [i, i]
    assert_same(func, after)


def test_conditions_add_up() -> None:
    inner = IfThenElse(i < 6, BufferStore(C, const(1), (i,)))
    func = function(loop(i, 8, IfThenElse(And(i < 6, i > 2), inner)), C)
    assert len(nodes(apply(func, Simplify()), IfThenElse)) == 1


def test_index_arithmetic_of_a_let_is_written_out() -> None:
    t = Var("t")
    func = function(loop(i, 4, LetStmt(t, i * 2, BufferStore(C, t // 2, (t,)))), C)
    after = apply(func, Simplify())
    assert not nodes(after, LetStmt)
    assert nodes(after, BufferStore)[0].value is i
    assert_same(func, after)


def test_a_let_that_reads_memory_stays() -> None:
    t = Var("t")
    func = function(loop(i, 4, LetStmt(t, C[i], BufferStore(C, t + t, (i,)))), C)
    after = apply(func, Simplify())
    assert len(nodes(after, LetStmt)) == 1
    assert_same(func, after)


def test_a_store_of_an_element_to_itself_disappears() -> None:
    func = function(loop(i, 4, BufferStore(C, C[i + 1 - 1], (i,))), C)
    assert not nodes(apply(func, Simplify()), BufferStore)


def test_an_assertion_that_holds_disappears_and_others_help() -> None:
    n = Var("n")
    body = AssertStmt(n < 8, convert("n"), IfThenElse(n < 9, BufferStore(C, const(1), (n,))))
    after = apply(function(body, C, scalars=(n,)), Simplify())
    assert len(nodes(after, AssertStmt)) == 1
    assert not nodes(after, IfThenElse)
    always = AssertStmt(i < 8, convert("i"), BufferStore(C, i, (i,)))
    assert not nodes(apply(function(loop(i, 8, always), C), Simplify()), AssertStmt)


def test_the_range_of_a_thread_is_used() -> None:
    thread = IterVar(Range(0, 8), Var("t"), IterVar.ThreadIndex, "threadIdx.x")
    body = AttrStmt(thread, "thread_extent", const(8), BufferStore(C, const(1), (thread.var % 8,)))
    assert nodes(apply(function(body, C), Simplify()), BufferStore)[0].indices[0] is thread.var


def test_bounds_of_loops_and_evaluated_values_are_simplified() -> None:
    n = Var("n")
    body = For(i, n - n, n + 2 - 2, ForKind.SERIAL, Evaluate(tir.call_extern("int32", "f", i + 0 * n)))
    after = apply(function(body, C, scalars=(n,)), Simplify())
    assert after.body.extent is n  # type: ignore[attr-defined]
    assert int(after.body.min) == 0  # type: ignore[attr-defined]
    assert after.body.body.value.args[1] is i  # type: ignore[attr-defined]


def test_what_cannot_be_simplified_is_returned_as_it_is() -> None:
    func = function(loop(i, 4, BufferStore(C, i, (i,))), C)
    assert apply(func, Simplify()) is func
