"""Well-formedness: variables are used only in scope."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.relay.adt import Match
from compiler.relay.expr import GraphExpr, Let, Var
from compiler.relay.expr_functor import ExprVisitor, bound_in_pattern
from compiler.relay.function import Function


def well_formed(expr: GraphExpr) -> bool:
    """Return whether every variable is bound once at most, and used only in the scope of its binding.

    Variables that an expression does not bind may be used.
    """
    if isinstance(expr, IRModule):
        return not any(_Scopes(func).faults for func in expr.functions.values() if isinstance(func, Function))
    return not _Scopes(expr).faults


class _Scopes(ExprVisitor):
    def __init__(self, expr: GraphExpr) -> None:
        super().__init__()
        self.faults: list[Var] = []
        self._in_scope: set[Var] = set()
        self._defined: set[Var] = set()
        self._free: set[Var] = set()
        self.visit(expr)

    def visit(self, expr: GraphExpr) -> None:
        # A variable is looked at each time that it is used, since each place has its own scope.
        if isinstance(expr, Var):
            self.visit_var(expr)
        else:
            super().visit(expr)

    def visit_var(self, var: Var) -> None:
        if var in self._in_scope:
            return
        if var in self._defined:
            self.faults.append(var)
        self._free.add(var)

    def _define(self, variables: Sequence[Var]) -> None:
        for var in variables:
            if var in self._defined or var in self._free:
                self.faults.append(var)
            self._defined.add(var)
            self._in_scope.add(var)

    def _leave(self, variables: Sequence[Var]) -> None:
        self._in_scope.difference_update(variables)

    def visit_function(self, fn: Function) -> None:
        self._define(fn.params)
        self.visit(fn.body)
        self._leave(fn.params)

    def visit_let(self, let: Let) -> None:
        chain: list[Var] = []
        rest: RelayExpr = let
        while isinstance(rest, Let) and rest not in self.memo_map:
            self.memo_map[rest] = None
            self._define([rest.var])
            chain.append(rest.var)
            self.visit(rest.value)
            rest = rest.body
        self.visit(rest)
        self._leave(chain)

    def visit_match(self, m: Match) -> None:
        self.visit(m.data)
        for clause in m.clauses:
            bound = bound_in_pattern(clause.lhs)
            self._define(bound)
            self.visit(clause.rhs)
            self._leave(bound)
