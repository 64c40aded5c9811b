"""Recursion goes as deep as programs nest, whatever the interpreter's limit is, and ends where it has no end."""

from __future__ import annotations

import copy
import sys
import threading
from contextvars import ContextVar

import pytest

from compiler.ir import recursion
from compiler.ir.expr.primexpr import Add, BinaryOp, IntImm, PrimExpr, Var
from compiler.ir.functor import Functor, Mutator, Visitor
from compiler.ir.origin import derived_from, user_frame
from compiler.ir.recursion import call_deeper, deep
from compiler.ir.structural import structural_equal

TERMS = 5_000
x = Var("x")
ambient: ContextVar[str] = ContextVar("ambient")


def left_sum(terms: int = TERMS) -> PrimExpr:
    e: PrimExpr = x
    for _ in range(terms - 1):
        e = Add(e, x)
    return e


def right_sum(terms: int = TERMS) -> PrimExpr:
    e: PrimExpr = x
    for _ in range(terms - 1):
        e = Add(x, e)
    return e


class Variables(Visitor):
    def __init__(self) -> None:
        self.count = 0
        self.threads: set[int] = set()

    def visit_Var(self, n: Var) -> None:
        self.count += 1
        self.threads.add(threading.get_ident())


class Height(Functor):
    def visit_BinaryOp(self, n: BinaryOp, extra: int) -> int:
        return extra + max(self.visit(n.a, extra), self.visit(n.b, extra))

    def visit_Var(self, n: Var, extra: int) -> int:
        return extra


class Replace(Mutator):
    def visit_Var(self, n: Var) -> PrimExpr:
        return IntImm("int32", 1)


def test_copies_are_not_bound_by_the_limit() -> None:
    one = left_sum()
    other = copy.deepcopy(one)
    assert other is not one
    assert structural_equal(other, one, map_free_vars=True)


@pytest.mark.parametrize("deep_sum", [left_sum, right_sum])
def test_visitors_are_not_bound_by_the_limit(deep_sum: type) -> None:
    limit = sys.getrecursionlimit()
    visitor = Variables()
    visitor.visit(deep_sum())
    assert visitor.count == TERMS
    assert len(visitor.threads) > 1
    assert sys.getrecursionlimit() == limit < TERMS


@pytest.mark.parametrize("deep_sum", [left_sum, right_sum])
def test_rules_with_arguments(deep_sum: type) -> None:
    assert Height().visit(deep_sum(), 1) == TERMS


@pytest.mark.parametrize("deep_sum", [left_sum, right_sum])
def test_mutators_are_not_bound_by_the_limit(deep_sum: type) -> None:
    visitor = Variables()
    visitor.visit(Replace().visit(deep_sum()))
    assert visitor.count == 0
    e = deep_sum()
    assert Mutator().visit(e) is e


def test_shallow_traversals_stay_in_their_thread() -> None:
    visitor = Variables()
    visitor.visit(left_sum(100))
    assert visitor.threads == {threading.get_ident()}


def test_context_variables_say_the_same_in_every_segment() -> None:
    seen: set[object] = set()

    class Context(Visitor):
        def visit_Var(self, n: Var) -> None:
            seen.add((ambient.get(), Var("y").span))

    token = ambient.set("here")
    try:
        with derived_from(frozenset((7,))):
            Context().visit(left_sum())
    finally:
        ambient.reset(token)
    assert seen == {("here", frozenset((7,)))}


def test_spans_are_ambient_in_every_segment() -> None:
    spans = [frozenset((k,)) for k in range(3)]
    e: PrimExpr = x
    for k in range(TERMS):
        e = Add(e, x, span=spans[k % 3])

    class Fresh(Mutator):
        def visit_BinaryOp(self, n: BinaryOp) -> PrimExpr:
            a = self.visit(n.a)
            return Add(a, x)

    after = Fresh().visit(e)
    while isinstance(after, Add):
        assert after.span == e.span  # type: ignore[attr-defined]
        after, e = after.a, e.a  # type: ignore[attr-defined]


def test_what_a_rule_raises_arrives() -> None:
    class Fails(Visitor):
        def visit_Var(self, n: Var) -> None:
            raise KeyError(n.name)

    visitor = Fails()
    for _ in range(2):  # nothing of the first failure remains
        with pytest.raises(KeyError, match="x"):
            visitor.visit(left_sum())


def test_the_users_frame_is_seen_from_every_segment() -> None:
    frames = set()

    class Frames(Visitor):
        def visit_BinaryOp(self, n: BinaryOp) -> None:
            if n.a is x:
                frames.add(call_deeper(_innermost))
            self.visit(n.a)

    def _innermost() -> str:
        return next(iter(recursion.calling_frames(sys._getframe()))).f_code.co_name

    Frames().visit(left_sum())
    assert frames == {"_innermost"}

    names: list[list[str]] = []

    class Callers(Visitor):
        def visit_Var(self, n: Var) -> None:
            names.append([f.f_code.co_name for f in recursion.calling_frames(sys._getframe())])

    Callers().visit(left_sum())
    for callers in names:
        assert callers.count("test_the_users_frame_is_seen_from_every_segment") == 1
    assert user_frame() is not None


def test_endless_recursion_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recursion, "MAX_SEGMENTS", 5)

    class Endless(Visitor):
        def visit_Var(self, n: Var) -> None:
            self.visit(n)

    with pytest.raises(RecursionError, match="nested too deeply: its traversal needs more than 5 threads"):
        Endless().visit(x)


def test_a_refused_thread_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(recursion._thread, "start_new_thread", refuse)
    with pytest.raises(RecursionError, match="no thread for its traversal"):
        Variables().visit(left_sum())


def test_plain_functions() -> None:
    @deep
    def height(e: PrimExpr) -> int:
        return 1 + max(height(e.a), height(e.b)) if isinstance(e, BinaryOp) else 1

    assert height(left_sum()) == height(right_sum()) == TERMS
    assert height.__name__ == "height"
