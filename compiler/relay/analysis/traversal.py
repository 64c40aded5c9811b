"""Iterative traversal of graphs, which may be arbitrarily deep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast, overload

from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.ir.origin import traversing
from compiler.relay.adt import Match
from compiler.relay.expr import Call, GraphExpr, If, Let, Tuple, TupleGetItem
from compiler.relay.expr_functor import ExprFunctor, ExprMutator, bound_in_pattern
from compiler.relay.function import Function
from compiler.relay.reference import RefCreate, RefRead, RefWrite

E = TypeVar("E", bound=GraphExpr)


def post_order(expr: GraphExpr, parts_of: Callable[[GraphExpr], Sequence[GraphExpr]] | None = None) -> list[GraphExpr]:
    """Return every part of an expression once, operands before their users, in the order of evaluation.

    Works for graphs of any depth: it keeps a stack of its own.  The parts of an expression are what ``parts_of``
    returns, by default its :func:`operands`, and variables where they are bound.
    """
    parts_of = parts_of or subexpressions
    done: set[GraphExpr] = set()
    order: list[GraphExpr] = []
    stack: list[tuple[GraphExpr, bool]] = [(expr, False)]
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


def post_order_visit(expr: GraphExpr, fvisit: Callable[[GraphExpr], object]) -> None:
    """Call a function once on every part of an expression, operands before their users; its result is ignored."""
    for part in post_order(expr):
        fvisit(part)


@overload
def bottom_up(visitor: ExprMutator, expr: Function) -> Function: ...


@overload
def bottom_up(visitor: ExprMutator, expr: GraphExpr) -> RelayExpr: ...


@overload
def bottom_up(visitor: ExprFunctor, expr: GraphExpr) -> object: ...
def bottom_up(visitor: ExprFunctor, expr: GraphExpr) -> object:
    """Return ``visitor.visit(expr)`` after visiting all parts, operands first, so that no rule recurses deeply.

    The visitor remembers what it returned for each expression.
    """
    with traversing():
        for part in post_order(expr):
            visitor.visit(part)
        return visitor.visit(expr)


def operands(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    """Return the expressions that an expression is made of: of a call its operator and arguments, of a function its
    body.
    """
    parts = _OPERANDS.get(type(expr))
    return () if parts is None else parts.of(expr)


def with_operands(expr: E, new: Sequence[GraphExpr]) -> E:
    """Return an expression made of as many other operands, in the order of :func:`operands`; the same if they are."""
    parts = _OPERANDS.get(type(expr))
    return expr if parts is None else cast(E, parts.rebuilt(expr, new))


def subexpressions(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    """Return what an expression is made of, the variables that it binds included."""
    binder = _BINDERS.get(type(expr))
    return operands(expr) if binder is None else binder(expr)


class _Operands(NamedTuple):
    """How a class of expressions is taken apart and put together again."""

    of: Callable[[Any], tuple[GraphExpr, ...]]
    rebuilt: Callable[[Any, Sequence[GraphExpr]], RelayExpr]


_OPERANDS: dict[type, _Operands] = {
    Call: _Operands(lambda e: (e.op, *e.args), lambda e, new: rebuild(e, op=new[0], args=tuple(new[1:]))),
    Function: _Operands(lambda e: (e.body,), lambda e, new: rebuild(e, body=new[0])),
    If: _Operands(
        lambda e: (e.cond, e.true_branch, e.false_branch),
        lambda e, new: rebuild(e, cond=new[0], true_branch=new[1], false_branch=new[2]),
    ),
    Let: _Operands(lambda e: (e.value, e.body), lambda e, new: rebuild(e, value=new[0], body=new[1])),
    Match: _Operands(
        lambda e: (e.data, *[clause.rhs for clause in e.clauses]),
        lambda e, new: rebuild(
            e, data=new[0], clauses=tuple([rebuild(c, rhs=rhs) for c, rhs in zip(e.clauses, new[1:], strict=True)])
        ),
    ),
    RefCreate: _Operands(lambda e: (e.value,), lambda e, new: rebuild(e, value=new[0])),
    RefRead: _Operands(lambda e: (e.ref,), lambda e, new: rebuild(e, ref=new[0])),
    RefWrite: _Operands(lambda e: (e.ref, e.value), lambda e, new: rebuild(e, ref=new[0], value=new[1])),
    Tuple: _Operands(lambda e: e.fields, lambda e, new: rebuild(e, fields=tuple(new))),
    TupleGetItem: _Operands(lambda e: (e.tuple_value,), lambda e, new: rebuild(e, tuple_value=new[0])),
}
"""What is not here is a leaf.  A table, as a match statement tries one class after the other."""


def _match_parts(expr: Match) -> tuple[GraphExpr, ...]:
    clauses = [(*bound_in_pattern(c.lhs), c.rhs) for c in expr.clauses]
    return (expr.data, *[part for clause in clauses for part in clause])


_BINDERS: dict[type, Callable[[Any], tuple[GraphExpr, ...]]] = {
    Function: lambda e: (*e.params, e.body),
    Let: lambda e: (e.var, e.value, e.body),
    Match: _match_parts,
}
"""What expressions that bind variables are made of, these included."""
