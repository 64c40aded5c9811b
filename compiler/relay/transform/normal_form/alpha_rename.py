"""Alpha renaming: copies expressions with fresh variables, so that each variable has one binding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.ir.types import Type, TypeVar
from compiler.relay.adt import Match
from compiler.relay.analysis import all_type_vars, bottom_up, post_order
from compiler.relay.expr import GraphExpr, Let, Var
from compiler.relay.expr_functor import ExprMutator, bound_in_pattern
from compiler.relay.function import Function


def alpha_renamed(
    expr: GraphExpr, new: Mapping[GraphExpr, RelayExpr] | None = None, unknown_types: Sequence[TypeVar] = ()
) -> RelayExpr:
    """Return a copy of an expression in which every binding is of a fresh variable.

    Annotations that mention ``unknown_types`` are dropped: what is copied out of a generic function is used at one
    type.
    """
    return _Copy(expr, dict(new or {}), frozenset(unknown_types)).copy


class _Copy(ExprMutator):
    def __init__(self, expr: GraphExpr, new: dict[GraphExpr, RelayExpr], unknown_types: frozenset[TypeVar]) -> None:
        super().__init__()
        self.memo_map.update(new)
        self._unknown = unknown_types
        for part in post_order(expr):
            match part:
                case Function():
                    self._define(part.params)
                case Let():
                    self._define((part.var,))
                case Match():
                    self._define([v for clause in part.clauses for v in bound_in_pattern(clause.lhs)])
        self.copy: RelayExpr = bottom_up(self, expr)

    def visit_function(self, fn: Function) -> RelayExpr:
        copy = super().visit_function(fn)
        if isinstance(copy, Function) and copy.ret_type is not None and self._annotation(copy.ret_type) is None:
            return rebuild(copy, ret_type=None)
        return copy

    def _define(self, variables: Sequence[Var]) -> None:
        for var in variables:
            with derived_from(var.span):
                self.memo_map[var] = Var(var.name_hint, self._annotation(var.type_annotation))

    def _annotation(self, t: Type | None) -> Type | None:
        if t is None or (self._unknown and not self._unknown.isdisjoint(all_type_vars(t))):
            return None
        return t
