"""Binding: substitutes expressions for variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.relay.analysis.variables import free_vars
from compiler.relay.expr import ExprLike, GraphExpr, Var, as_expr
from compiler.relay.expr_functor import ExprMutator
from compiler.relay.function import Function


def bind(expr: GraphExpr, binds: Mapping[Var, ExprLike]) -> Any:
    """Substitute expressions for free variables, or for parameters of a function; the very same where nothing is bound.

    A function loses the parameters that are bound, and gets those that the new expressions use::

        fn (%x, %y) { add(%x, %y) }, {%y: multiply(%z, 2f)}   ->   fn (%x, %z) { add(%x, multiply(%z, 2f)) }

    Raises ArgumentError if ``binds`` maps anything else.
    """
    values = {var: as_expr(value) for var, value in binds.items()}
    for var, value in values.items():
        if not isinstance(var, Var) or not isinstance(value, RelayExpr):
            raise ArgumentError(f"bind: binds must map variables to expressions, got {show(var)}: {show(value)}")
    if not isinstance(expr, Function) or not any(param in values for param in expr.params):
        return _Bind(values).visit(expr)
    with derived_from(expr.span):
        params = tuple(param for param in expr.params if param not in values)
        bound = rebuild(expr, params=params, body=_Bind(values).visit(expr.body))
        more = [var for value in values.values() for var in free_vars(value)]
        used = set(free_vars(bound))
        new = dict.fromkeys(var for var in more if var in used)
        return rebuild(bound, params=(*params, *new)) if new else bound


class _Bind(ExprMutator):
    def __init__(self, values: Mapping[Var, RelayExpr]) -> None:
        super().__init__()
        self._values = values

    def visit_var(self, var: Var) -> RelayExpr:
        return self._values.get(var, var)
