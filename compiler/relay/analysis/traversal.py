"""Walking over a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.relay.adt import Match
from compiler.relay.expr import Call, Function, If, Let, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem
from compiler.relay.expr_functor import ExprVisitor


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
