"""Functions over loop IR see every node in order, and replace what they return something for."""

from __future__ import annotations

import pytest

from compiler import te, tir
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import Var
from compiler.ir.origin import OriginTable, derived_from, recording
from compiler.tir.statements import stmt_functor

i, j, x = Var("i"), Var("j"), Var("x", "float32")
A = tir.decl_buffer((16,), name="A")


def nest() -> tir.Stmt:
    return tir.For(i, 0, 4, 0, tir.For(j, 0, 4, 0, tir.BufferStore(A, A[i * 4 + j] + x, [i])))


def test_post_order_visits_children_first() -> None:
    seen: list[object] = []
    stmt = nest()
    stmt_functor.post_order_visit(stmt, seen.append)
    assert seen[-1] is stmt
    assert [n.loop_var for n in seen if isinstance(n, tir.For)] == [j, i]
    assert any(isinstance(n, tir.BufferLoad) for n in seen)


def test_only_statements_and_expressions_are_visited() -> None:
    k = te.reduce_axis((0, Var("n")), name="k")
    total = te.sum(te.placeholder((8,), name="A")[k], axis=k, where=k > 2)
    seen: list[object] = []
    stmt_functor.post_order_visit(total, seen.append)
    assert [type(n).__name__ for n in seen] == ["IntImm", "Var", "Var", "ProducerLoad", "IntImm", "GT", "Reduce"]
    x, y = Var("x"), Var("y")
    for visit in (stmt_functor.post_order_visit, stmt_functor.pre_order_visit):
        used: list[object] = []
        visit(tir.Let(x, 1, y), lambda n, used=used: used.append(n) or True)
        assert y in used
        assert x not in used


def test_pre_order_stops_where_it_is_told() -> None:
    seen: list[object] = []

    def visit(n: object) -> bool:
        seen.append(n)
        return not isinstance(n, tir.BufferStore)

    stmt = nest()
    stmt_functor.pre_order_visit(stmt, visit)
    assert seen[0] is stmt
    assert not any(isinstance(n, tir.BufferLoad) for n in seen)


def test_nothing_replaced_is_the_very_same_statement() -> None:
    stmt = nest()
    assert stmt_functor.ir_transform(stmt, None, lambda n: None) is stmt


def test_post_order_replaces_only_the_classes_named() -> None:
    kinds = []

    def unroll(n: tir.For) -> tir.For:
        kinds.append(type(n))
        return tir.For(n.loop_var, n.min, n.extent, tir.ForKind.UNROLLED, n.body)

    result = stmt_functor.ir_transform(nest(), None, unroll, ["tir.For"])
    assert kinds == [tir.For, tir.For]
    assert result.kind is tir.ForKind.UNROLLED
    assert result.body.kind is tir.ForKind.UNROLLED


def test_what_pre_order_returns_is_final() -> None:
    def replace(n: tir.For) -> tir.Stmt | None:
        return tir.Evaluate(0) if n.loop_var is j else None

    seen: list[object] = []
    result = stmt_functor.ir_transform(nest(), replace, lambda n: seen.append(n), ["tir.For", "tir.Evaluate"])
    assert isinstance(result.body, tir.Evaluate)
    assert seen == [result]


def test_numbers_become_constants() -> None:
    result = stmt_functor.ir_transform(nest(), None, lambda n: 0 if isinstance(n, tir.Mul) else None, ["tir.Mul"])
    assert "A[T.Add(0, j)]" in str(result)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stmt_functor.ir_transform(nest(), None, None, ["tir.Fro"]), "only_enable must name classes"),
        (lambda: stmt_functor.ir_transform(nest(), None, lambda n: 3, ["tir.For"]), "a For can only be replaced"),
        (lambda: stmt_functor.post_order_visit("no", print), "post_order_visit: expected a statement"),
        (lambda: stmt_functor.substitute(nest(), {"i": 3}), "substitute: vmap must map variables"),
    ],
)
def test_mistakes_are_explained(call: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()  # type: ignore[operator]


def test_substitute_takes_numbers_and_leaves_bound_variables() -> None:
    body = tir.BufferStore(A, x, [i])
    assert str(stmt_functor.substitute(body, {i: 3})) == "A = T.Buffer((16,))\nx = T.float32()\nA[3] = x"
    stmt = nest()
    assert stmt_functor.substitute(stmt, {i: 3}) is stmt


def test_what_is_put_in_place_comes_from_the_transformation_too() -> None:
    with recording(OriginTable()) as table:
        with derived_from(table.mint("source", "the loop", None, frozenset())):
            loop = tir.For(i, 0, 4, 0, tir.Evaluate(0))
        result = stmt_functor.ir_transform(loop, None, lambda n: tir.For(j, 0, 4, 1, n.body), ["tir.For"])
    assert [table.rows[o].label for o in sorted(result.span)] == ["the loop", "ir_transform"]
    assert [table.rows[o].label for o in sorted(result.body.span)] == ["the loop"]


def _indexed() -> tir.Stmt:
    i = tir.Var("i", "int32")
    buffer = tir.decl_buffer((8,), name="A")
    return tir.For(i, 0, 8, 0, tir.SeqStmt([tir.BufferStore(buffer, 1.0, [i + 7]), tir.Evaluate(7)]))


class _Sevens(tir.stmt_functor.StmtMutator):
    def visit_IntImm(self, n: tir.IntImm) -> tir.PrimExpr:
        return tir.IntImm(n.dtype, 8) if n.value == 7 else n

    def visit_Evaluate(self, n: tir.Evaluate) -> tir.Stmt:
        return tir.Evaluate(9)


class _AllSevens(tir.stmt_functor.StmtExprMutator):
    visit_IntImm = _Sevens.visit_IntImm


def test_a_statement_mutator_does_not_enter_expressions() -> None:
    stmt = _indexed()
    after = _Sevens().visit(stmt)
    assert after.body.seq[0] is stmt.body.seq[0]
    assert after.body.seq[1].value.value == 9


def test_a_statement_and_expression_mutator_does() -> None:
    after = _AllSevens().visit(_indexed())
    assert after.body.seq[0].indices[0].b.value == 8
    assert after.body.seq[1].value.value == 8


def test_statement_visitors() -> None:
    seen: list[str] = []

    class Statements(tir.stmt_functor.StmtVisitor):
        def visit_Var(self, n: tir.Var) -> None:
            seen.append(n.name)

        def visit_Node(self, n: tir.Stmt) -> None:
            seen.append(type(n).__name__)
            super().visit_Node(n)

    class Expressions(tir.stmt_functor.StmtExprVisitor):
        visit_Var = Statements.visit_Var

    Statements().visit(_indexed())
    assert seen == ["For", "SeqStmt", "BufferStore", "Evaluate"]
    seen.clear()
    Expressions().visit(_indexed())
    assert seen == ["i"]
