"""Patterns of functions, of control flow and of tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.classic.relay.dataflow_pattern.matcher import Matcher
from compiler.classic.relay.dataflow_pattern.pattern import DFPattern
from compiler.relay.analysis.traversal import operands
from compiler.relay.expr import GraphExpr, If, Let, Tuple, TupleGetItem
from compiler.relay.function import Function

__all__ = ["FunctionPattern", "IfPattern", "LetPattern", "TupleGetItemPattern", "TuplePattern"]


@dataclass(frozen=True, eq=False, repr=False)
class FunctionPattern(DFPattern):
    """A function; its parameters may be any if they are None."""

    params: Sequence[DFPattern] | None
    body: DFPattern

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        if not isinstance(expr, Function) or not matcher.all_fit(self.params, expr.params):
            return False
        return matcher.fits(self.body, expr.body) and matcher.take(expr)


@dataclass(frozen=True, eq=False, repr=False)
class IfPattern(DFPattern):
    """A branch."""

    cond: DFPattern
    true_branch: DFPattern
    false_branch: DFPattern

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        parts = (self.cond, self.true_branch, self.false_branch)
        return isinstance(expr, If) and matcher.all_fit(parts, operands(expr)) and matcher.take(expr)


@dataclass(frozen=True, eq=False, repr=False)
class LetPattern(DFPattern):
    """A ``let``."""

    var: DFPattern
    value: DFPattern
    body: DFPattern

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        if not isinstance(expr, Let):
            return False
        parts = (expr.var, expr.value, expr.body)
        return matcher.all_fit((self.var, self.value, self.body), parts) and matcher.take(expr)


@dataclass(frozen=True, eq=False, repr=False)
class TuplePattern(DFPattern):
    """A tuple; its fields may be any if they are None."""

    fields: Sequence[DFPattern] | None

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        return isinstance(expr, Tuple) and matcher.all_fit(self.fields, expr.fields) and matcher.take(expr)


@dataclass(frozen=True, eq=False, repr=False)
class TupleGetItemPattern(DFPattern):
    """A field of a tuple, the field ``tuple``; any if there is no index."""

    tuple: DFPattern
    index: int | None

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        object.__setattr__(self, "tuple", tuple_value)
        object.__setattr__(self, "index", index)

    def matches(self, matcher: Matcher, expr: GraphExpr) -> bool:
        if not isinstance(expr, TupleGetItem) or self.index not in (None, expr.index):
            return False
        return matcher.fits(self.tuple, expr.tuple_value) and matcher.take(expr)
