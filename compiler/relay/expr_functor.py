"""Visitors and mutators over graphs, with TVM's names for the rules: ``visit_call``, ``visit_let``, …

Every expression is visited once, however many users it has.  What a rule builds inherits the origins of the expression
that it is a rule for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.functor import RewriteFunctor
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.relay.adt import Clause, Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var, expect
from compiler.relay.function import Function
from compiler.relay.reference import RefCreate, RefRead, RefWrite

_RULES: dict[type, str] = {
    Call: "visit_call",
    Constant: "visit_constant",
    Constructor: "visit_constructor",
    Function: "visit_function",
    GlobalVar: "visit_global_var",
    If: "visit_if",
    Let: "visit_let",
    Match: "visit_match",
    Op: "visit_op",
    RefCreate: "visit_ref_create",
    RefRead: "visit_ref_read",
    RefWrite: "visit_ref_write",
    Tuple: "visit_tuple",
    TupleGetItem: "visit_tuple_getitem",
    Var: "visit_var",
}


class ExprFunctor(RewriteFunctor):
    """Dispatches ``visit(expr)`` to the rule for its class, once for each expression: ``memo_map`` has what it
    returned.
    """

    memo_map: dict[Any, Any]

    def __init__(self) -> None:
        self.memo_map = {}

    @classmethod
    def rule_name(cls, kind: type) -> str:
        """Return the name of the rule for a class of expressions, e.g. ``visit_call``; empty if there is none."""
        return _RULES.get(kind, "")


class ExprVisitor(ExprFunctor):
    """Walks every part of an expression; a rule that is overridden calls ``super()``'s to go on below."""

    def _below(self, expr: Any) -> None:
        for name in getattr(expr, "children", ()):
            part = getattr(expr, name)
            for each in part if isinstance(part, tuple) else (part,):
                self.visit(each)

    visit_call = visit_constant = visit_constructor = visit_function = visit_global_var = visit_if = visit_let = _below
    visit_op = visit_ref_create = visit_ref_read = visit_ref_write = visit_tuple = visit_tuple_getitem = _below
    visit_var = _below

    def visit_match(self, m: Match) -> None:
        self.visit(m.data)
        for clause in m.clauses:
            for bound in bound_in_pattern(clause.lhs):
                self.visit(bound)
            self.visit(clause.rhs)


class ExprMutator(ExprFunctor):
    """Rebuilds an expression; returns the very same object where nothing changed."""

    memo_map: dict[GraphExpr, RelayExpr]

    if TYPE_CHECKING:  # an operator alone is replaced by one, or by a function

        def visit(self, n: GraphExpr, *args: Any) -> RelayExpr: ...

    def _itself(self, expr: Any) -> Any:
        return expr

    visit_constant = visit_constructor = visit_global_var = visit_op = visit_var = _itself

    def visit_call(self, call: Call) -> RelayExpr:
        return self.rebuilt_call(call)

    def rebuilt_call(self, call: Call) -> Call:
        """Return a call of what the operator and the arguments have become."""
        op, args = self.visit(call.op), self._visit_tuple(call.args)
        return rebuild(call, op=op, args=args)

    def visit_function(self, fn: Function) -> RelayExpr:
        return rebuild(fn, params=self._visit_tuple(fn.params), body=self.visit(fn.body))

    def _rebuilt(self, expr: Any) -> RelayExpr:
        parts = [(name, getattr(expr, name)) for name in expr.children]
        new = {name: self._visit_tuple(part) if isinstance(part, tuple) else self.visit(part) for name, part in parts}
        made: RelayExpr = rebuild(expr, **new)
        return made

    visit_if = visit_let = visit_ref_create = visit_ref_read = visit_ref_write = _rebuilt
    visit_tuple = visit_tuple_getitem = _rebuilt

    def visit_match(self, m: Match) -> RelayExpr:
        clauses = tuple([self._clause(c) for c in m.clauses])
        return rebuild(m, data=self.visit(m.data), clauses=clauses)

    def _clause(self, clause: Clause) -> Clause:
        lhs, rhs = self.visit_pattern(clause.lhs), self.visit(clause.rhs)
        return rebuild(clause, lhs=lhs, rhs=rhs)

    def visit_bound(self, var: Var) -> Var:
        """Return what has become of a variable where it is bound: a variable."""
        return expect(Var, self.visit(var))

    def visit_pattern(self, pattern: Pattern) -> Pattern:
        """Return a pattern with its variables visited."""
        if isinstance(pattern, PatternVar):
            var = self.visit_bound(pattern.var)
            return pattern if var is pattern.var else PatternVar(var)
        if isinstance(pattern, (PatternConstructor, PatternTuple)):
            return rebuild(pattern, patterns=tuple([self.visit_pattern(p) for p in pattern.patterns]))
        return pattern


def bound_in_pattern(pattern: Pattern) -> list[Var]:
    """Return the variables that a pattern names, in order."""
    if isinstance(pattern, PatternVar):
        return [pattern.var]
    if isinstance(pattern, (PatternConstructor, PatternTuple)):
        return [v for part in pattern.patterns for v in bound_in_pattern(part)]
    return []
