"""Copies of expressions with variables of their own, so that every variable keeps being defined in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.ir.types import Type, TypeVar
from compiler.relay.adt import Match
from compiler.relay.analysis import all_type_vars
from compiler.relay.expr import Function, Let, Var
from compiler.relay.expr_functor import ExprMutator, bound_in_pattern


def copy_with(expr: Any, new: Mapping[Any, Any] | None = None, unknown_types: Sequence[TypeVar] = ()) -> Any:
    """Return a copy of an expression that defines fresh variables wherever it defines some.

    Parameters
    ----------
    expr : Expr
    new : mapping, optional
        What replaces free variables.
    unknown_types : sequence of TypeVar, optional
        Annotations that speak of these are left out: what is copied out of a generic function is used at one type.
    """
    return _Copy(dict(new or {}), frozenset(unknown_types)).visit(expr)


class _Copy(ExprMutator):
    def __init__(self, new: dict[Any, Any], unknown_types: frozenset[TypeVar]) -> None:
        super().__init__()
        self.memo_map.update(new)
        self._unknown = unknown_types

    def visit_function(self, fn: Function) -> Any:
        self._define(fn.params)
        copy: Any = super().visit_function(fn)
        if copy.ret_type is not None and self._annotation(copy.ret_type) is None:
            return rebuild(copy, {"ret_type": None})
        return copy

    def visit_let(self, let: Let) -> Any:
        chain: list[Let] = []
        rest: Any = let
        while isinstance(rest, Let):
            self._define([rest.var])
            self.visit(rest.value)
            chain.append(rest)
            rest = rest.body
        body = self.visit(rest)
        for old in reversed(chain):
            with derived_from(old.span):
                body = Let(self.memo_map[old.var], self.memo_map[old.value], body)
        return body

    def visit_match(self, m: Match) -> Any:
        for clause in m.clauses:
            self._define(bound_in_pattern(clause.lhs))
        return super().visit_match(m)

    def _define(self, variables: Sequence[Var]) -> None:
        for var in variables:
            with derived_from(var.span):
                self.memo_map[var] = Var(var.name_hint, self._annotation(var.type_annotation))

    def _annotation(self, t: Type | None) -> Type | None:
        if t is None or (self._unknown and not self._unknown.isdisjoint(all_type_vars(t))):
            return None
        return t
