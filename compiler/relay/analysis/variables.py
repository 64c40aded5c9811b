"""Free, bound and all variables of a graph."""

from __future__ import annotations

from compiler.ir.function import as_function
from compiler.relay.adt import Match
from compiler.relay.analysis.traversal import post_order
from compiler.relay.expr import Expr, GraphExpr, Let, TupleWrapper, Var
from compiler.relay.expr_functor import bound_in_pattern
from compiler.relay.function import Function


def free_vars(expr: GraphExpr) -> list[Var]:
    """Return the variables that an expression uses and does not bind."""
    parts = post_order(expr)
    bound = _bound(parts)
    return [v for v in parts if isinstance(v, Var) and v not in bound]


def bound_vars(expr: GraphExpr) -> list[Var]:
    """Return the variables that an expression binds: parameters, names of lets, names in patterns."""
    parts = post_order(expr)
    bound = _bound(parts)
    return [v for v in parts if isinstance(v, Var) and v in bound]


def all_vars(expr: GraphExpr) -> list[Var]:
    """Return every variable of an expression."""
    return [v for v in post_order(expr) if isinstance(v, Var)]


def _bound(parts: list[GraphExpr]) -> set[Var]:
    """Variables are unique objects that one place defines, so those that no place defines are free."""
    bound: set[Var] = set()
    for part in parts:
        match part:
            case Function():
                bound.update(part.params)
            case Let():
                bound.add(part.var)
            case Match():
                bound.update(v for clause in part.clauses for v in bound_in_pattern(clause.lhs))
    return bound


@as_function.register
def _(values: TupleWrapper) -> Function:
    body = values.astuple()
    return Function(tuple(free_vars(body)), body)


@as_function.register
def _(expr: Expr) -> Function:
    return Function(tuple(free_vars(expr)), expr)
