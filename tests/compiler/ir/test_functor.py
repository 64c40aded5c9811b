"""Visitors find the most specific rule; mutators keep what did not change."""

from __future__ import annotations

import pytest

from compiler import tir
from compiler.ir.expr.primexpr import Add, BinaryOp, IntImm, Mul, PrimExpr, Var
from compiler.ir.functor import Functor, Mutator, Visitor
from compiler.ir.instrument import DerivationLog, instrumented
from compiler.ir.node import Node
from compiler.ir.origin import Location, OriginTable, derived_from

i, j = Var("i"), Var("j")


class Names(Functor):
    def visit_PrimExpr(self, n: PrimExpr) -> str:
        return "expression"

    def visit_BinaryOp(self, n: BinaryOp) -> str:
        return "binary"

    def visit_Add(self, n: Add) -> str:
        return "sum"


class MoreNames(Names):
    def visit_Mul(self, n: Mul) -> str:
        return "product"


@pytest.mark.parametrize(
    ("expression", "name"), [(i + j, "sum"), (i * j, "binary"), (i, "expression"), (i < j, "binary")]
)
def test_the_most_specific_rule_applies(expression: PrimExpr, name: str) -> None:
    assert Names().visit(expression) == name


def test_each_class_has_rules_of_its_own() -> None:
    assert Names().visit(i * j) == "binary"
    assert MoreNames().visit(i * j) == "product"
    assert Names().visit(i * j) == "binary"


def test_what_has_no_rule_is_refused() -> None:
    with pytest.raises(TypeError, match="Names has no rule for Evaluate"):
        Names().visit(tir.Evaluate(0))


def test_a_visitor_walks_every_child() -> None:
    seen: list[str] = []

    class Variables(Visitor):
        def visit_Var(self, n: Var) -> None:
            seen.append(n.name)

    Variables().visit(tir.For(i, 0, j, 0, tir.Evaluate(i + j)))
    assert seen == ["j", "i", "j"]


class Increment(Mutator):
    def visit_IntImm(self, n: IntImm) -> PrimExpr:
        return IntImm(n.dtype, n.value + 1) if n.value == 7 else n


def test_nothing_changed_is_the_very_same_object() -> None:
    e = (i + 6) * j
    assert Increment().visit(e) is e


def test_only_the_way_to_the_change_is_rebuilt() -> None:
    kept = j * 2
    e = (i + 7) * kept
    changed = Increment().visit(e)
    assert str(changed) == "(i + 8) * (j * 2)"
    assert changed.b is kept


def test_what_is_rebuilt_inherits_the_origin_of_what_it_replaces() -> None:
    table = OriginTable()
    span = table.mint("source", "a line", Location("script.py", 3), frozenset())
    with derived_from(span):
        e = i + 7
    log = DerivationLog()
    with instrumented(log):
        changed = Increment().visit(e)
    assert changed.span == span
    assert isinstance(changed, Node)
    assert [(str(d.before), str(d.after)) for d in log.entries] == [("7", "8"), ("i + 7", "i + 8")]


def test_a_visit_that_is_overridden_runs_once_for_each_node() -> None:
    class Counting(Mutator):
        def __init__(self) -> None:
            self.visits: list[object] = []

        def visit(self, n: Node, *args: object) -> object:
            self.visits.append(n)
            return super().visit(n, *args)

    x = Var("x")
    tree = Add(x, IntImm("int32", 1))
    counting = Counting()
    counting.visit(tree)
    assert counting.visits == [tree, *(getattr(tree, name) for name in tree.children)]
