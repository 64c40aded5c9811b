"""Variables are replaced where they are free, buffers consistently; free variables are found in order."""

from __future__ import annotations

from compiler import tir
from compiler.ir.expr.primexpr import IntImm, Let, PrimExpr, Var, const
from compiler.ir.expr.substitute import free_vars, post_order_visit, substitute, uses_var

i, j, n = Var("i"), Var("j"), Var("n")


def test_only_free_uses_are_replaced() -> None:
    stmt = tir.For(i, 0, n, 0, tir.Evaluate(i + j + n))
    assert (
        str(substitute(stmt, {i: const(1), j: const(2), n: const(3)}))
        == "for i in range(3):\n    T.evaluate(i + 2 + 3)"
    )


def test_nothing_replaced_is_the_very_same_object() -> None:
    e = i + 1
    assert substitute(e, {j: const(0)}) is e
    let = Let(i, IntImm("int32", 3), i + 1)
    assert substitute(let, {i: const(0)}) is let


def test_a_callable_says_what_replaces_a_variable() -> None:
    assert str(substitute(i + j, lambda v: v * 2 if v is i else None)) == "i * 2 + j"


def test_a_buffer_is_replaced_once_for_all_of_its_uses() -> None:
    A = tir.decl_buffer((n,), name="A")
    stmt = tir.SeqStmt([tir.BufferStore(A, A[i], [j]), tir.Evaluate(A[j])])
    changed = substitute(stmt, {n: const(8)})
    store, evaluate = changed.seq
    assert store.buffer is store.value.buffer is evaluate.value.buffer
    assert store.buffer is not A
    assert store.buffer.shape[0].value == 8
    assert store.buffer.data is A.data


def test_free_variables_in_order_of_use() -> None:
    A = tir.decl_buffer((16,), "int32", name="A")
    assert free_vars(j + i * n) == [j, i, n]
    assert free_vars(tir.For(i, 0, n, 0, tir.BufferStore(A, j, [i]))) == [n, A.data, j]
    assert uses_var(i + j, i)
    assert not uses_var(tir.For(i, 0, n, 0, tir.Evaluate(i)), i)
    assert uses_var(i + j, lambda v: v.name == "j")


def test_shared_operands_are_visited_once() -> None:
    shared = i + 1
    seen: list[PrimExpr] = []
    post_order_visit(shared * shared, seen.append)
    assert len([e for e in seen if e is shared]) == 1
    assert seen[-1].a is shared  # type: ignore[attr-defined]
