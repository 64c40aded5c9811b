"""Walking over a graph, without recursion: graphs are as deep as their longest chain of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.relay.adt import Match
from compiler.relay.expr import Call, Function, GraphExpr, If, Let, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem
from compiler.relay.expr_functor import bound_in_pattern

__all__ = [
    "bottom_up",
    "operands",
    "post_order",
    "post_order_visit",
]


def post_order(expr: GraphExpr, parts_of: Callable[[Any], tuple[Any, ...]] | None = None) -> list[Any]:
    """Return every part of an expression once, operands before their users, in the order of evaluation.

    Works for graphs of any depth: it keeps a stack of its own.

    Parameters
    ----------
    expr : Expr
    parts_of : callable, optional
        From an expression to the tuple of its parts; when left out :func:`operands`, and variables where they are
        bound.

    Returns
    -------
    list of Expr
        ``expr`` last.
    """
    parts_of = parts_of or _parts
    done: set[Any] = set()
    order: list[Any] = []
    stack: list[tuple[Any, bool]] = [(expr, False)]
    while stack:
        part, ready = stack.pop()
        if part in done:
            continue
        parts = () if ready else parts_of(part)
        if parts:
            stack.append((part, True))
            stack.extend([(p, False) for p in reversed(parts) if p not in done])
        else:
            done.add(part)
            order.append(part)
    return order


def post_order_visit(expr: GraphExpr, fvisit: Callable[[Any], Any]) -> None:
    """Call a function once on every part of an expression, operands before their users.

    Parameters
    ----------
    expr : Expr
    fvisit : callable
        ``fvisit(part)``; its result is ignored.
    """
    for part in post_order(expr):
        fvisit(part)


def bottom_up(visitor: Any, expr: GraphExpr) -> Any:
    """Return ``visitor.visit(expr)`` after visiting all parts, operands first, so that no rule recurses deeply.

    Parameters
    ----------
    visitor : ExprFunctor
        Remembers what it returned for each expression.
    expr : Expr

    Returns
    -------
    object
        What the visitor returns for ``expr``.
    """
    for part in post_order(expr):
        visitor.visit(part)
    return visitor.visit(expr)


def _parts(expr: GraphExpr) -> tuple[Any, ...]:
    """Return what an expression is made of, the variables that it defines included."""
    match expr:
        case Function():
            return (*expr.params, expr.body)
        case Let():
            return (expr.var, expr.value, expr.body)
        case Match():
            clauses = [(*bound_in_pattern(c.lhs), c.rhs) for c in expr.clauses]
            return (expr.data, *(part for clause in clauses for part in clause))
        case _:
            return operands(expr)


def operands(expr: GraphExpr) -> tuple[Any, ...]:
    """Return the expressions that an expression is directly made of.

    Parameters
    ----------
    expr : Expr
        Of a call its operator and arguments, of a function its body.

    Returns
    -------
    tuple of Expr
        In the order of evaluation.
    """
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
