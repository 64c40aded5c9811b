"""Which variables a graph uses, and which it defines."""

from __future__ import annotations

from typing import Any

from compiler.relay.adt import Match
from compiler.relay.expr import Function, Let, Var, set_free_vars
from compiler.relay.expr_functor import ExprVisitor, bound_in_pattern


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


set_free_vars(free_vars)
