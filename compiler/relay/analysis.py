"""What can be read off a graph: ``relay.analysis``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.relay.adt import Match
from compiler.relay.expr import (
    Call,
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    set_free_vars,
)
from compiler.relay.expr_functor import ExprVisitor, bound_in_pattern


def post_order_visit(expr: Any, fvisit: Callable[[Any], Any]) -> None:
    """Call ``fvisit`` once on every part of an expression, operands before what uses them."""
    _PostOrder(fvisit).visit(expr)


class _PostOrder(ExprVisitor):
    def __init__(self, fvisit: Callable[[Any], Any]) -> None:
        super().__init__()
        self._fvisit = fvisit

    def visit(self, expr: Any) -> Any:
        if expr not in self.memo_map:
            super().visit(expr)
            self._fvisit(expr)


def free_vars(expr: Any) -> list[Var]:
    """Return the variables that an expression uses and does not define, in order of first use."""
    return _Variables(expr).free


def bound_vars(expr: Any) -> list[Var]:
    """Return the variables that an expression defines, in order of definition."""
    return list(_Variables(expr).bound)


def all_vars(expr: Any) -> list[Var]:
    """Return every variable of an expression, in order of first occurrence."""
    return list(_Variables(expr).all)


class _Variables(ExprVisitor):
    """Variables are unique objects that one place defines, so those that no place defines are free."""

    def __init__(self, expr: Any) -> None:
        super().__init__()
        self.all: dict[Var, None] = {}
        self.bound: dict[Var, None] = {}
        self.visit(expr)
        self.free = [v for v in self.all if v not in self.bound]

    def visit_var(self, var: Var) -> None:
        self.all[var] = None

    def visit_function(self, fn: Function) -> None:
        self.bound.update(dict.fromkeys(fn.params))
        super().visit_function(fn)

    def visit_let(self, let: Let) -> None:
        self.bound[let.var] = None
        super().visit_let(let)

    def visit_match(self, m: Match) -> None:
        for clause in m.clauses:
            self.bound.update(dict.fromkeys(bound_in_pattern(clause.lhs)))
        super().visit_match(m)


def operands(expr: Any) -> tuple[Any, ...]:
    """Return the expressions that an expression is directly made of; a function is made of its body."""
    match expr:
        case Call():
            return (expr.op, *expr.args)
        case Function():
            return (expr.body,)
        case Let():
            return (expr.value, expr.body)
        case If():
            return (expr.cond, expr.true_branch, expr.false_branch)
        case Tuple():
            return expr.fields
        case TupleGetItem():
            return (expr.tuple_value,)
        case RefCreate():
            return (expr.value,)
        case RefRead():
            return (expr.ref,)
        case RefWrite():
            return (expr.ref, expr.value)
        case Match():
            return (expr.data, *(clause.rhs for clause in expr.clauses))
        case _:
            return ()


set_free_vars(free_vars)
