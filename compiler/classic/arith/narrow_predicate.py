"""Narrows predicates to conditions that hold for all values of some variables."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.expr.primexpr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    CmpOp,
    FloorDiv,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    PrimExpr,
    Range,
    Sub,
    Var,
    const,
)
from compiler.ir.expr.substitute import uses_var
from compiler.ir.functor import RewriteFunctor
from compiler.ir.node import rebuild

_GREATEST, _LEAST = 1, -1
_SIDES = {LT: (_GREATEST, _LEAST), LE: (_GREATEST, _LEAST), GT: (_LEAST, _GREATEST), GE: (_LEAST, _GREATEST)}
"""For a comparison to hold always: which value of its sides must be compared."""


def narrow_predicate_expression(expr: PrimExpr, free_parameters: Mapping[Var, Range]) -> PrimExpr:
    """Return a condition without some variables that implies the given one for all of their values.

    Examples
    --------
    >>> narrow_predicate_expression(i < j, {j: Range(2, 8)})
    i < 2
    """
    narrowed: PrimExpr = _VariableEliminator(free_parameters).visit(expr, False)
    return narrowed


class _Unknown(Exception):
    """An expression whose extreme values are not those at the ends of the variables' ranges."""


class _Extreme(RewriteFunctor):
    """Replaces variables so that an integer expression has its greatest or its least value."""

    def __init__(self, ranges: Mapping[Var, Range]) -> None:
        self._ranges = ranges

    def visit_PrimExpr(self, n: PrimExpr, side: int) -> PrimExpr:
        if uses_var(n, lambda v: v in self._ranges):
            raise _Unknown
        return n

    def visit_Var(self, n: Var, side: int) -> PrimExpr:
        r = self._ranges.get(n)
        if r is None:
            return n
        return r.min if side == _LEAST else r.min + r.extent - 1

    def _monotonic(self, n: BinaryOp, side: int) -> PrimExpr:
        return rebuild(n, a=self.visit(n.a, side), b=self.visit(n.b, side))

    def visit_Add(self, n: Add, side: int) -> PrimExpr:
        return self._monotonic(n, side)

    def visit_Min(self, n: Min, side: int) -> PrimExpr:
        return self._monotonic(n, side)

    def visit_Max(self, n: Max, side: int) -> PrimExpr:
        return self._monotonic(n, side)

    def visit_Sub(self, n: Sub, side: int) -> PrimExpr:
        return rebuild(n, a=self.visit(n.a, side), b=self.visit(n.b, -side))

    def visit_Mul(self, n: Mul, side: int) -> PrimExpr:
        a, b = (n.a, n.b) if isinstance(n.b, IntImm) else (n.b, n.a)
        if not isinstance(b, IntImm):
            return self.visit_PrimExpr(n, side)
        factor = self.visit(a, side if b.value >= 0 else -side)
        return rebuild(n, a=factor, b=n.b) if a is n.a else rebuild(n, a=n.a, b=factor)

    def visit_FloorDiv(self, n: FloorDiv, side: int) -> PrimExpr:
        if not isinstance(n.b, IntImm) or not n.b.value:
            return self.visit_PrimExpr(n, side)
        return rebuild(n, a=self.visit(n.a, side if n.b.value > 0 else -side))


class _VariableEliminator(RewriteFunctor):
    """Narrows conditions; ``negated`` is whether the condition stands under an odd number of negations."""

    def __init__(self, ranges: Mapping[Var, Range]) -> None:
        self._ranges = ranges
        self._extreme = _Extreme(ranges)

    def visit_PrimExpr(self, n: PrimExpr, negated: bool) -> PrimExpr:
        return const(negated, "bool") if uses_var(n, lambda v: v in self._ranges) else n

    def visit_And(self, n: And, negated: bool) -> PrimExpr:
        return rebuild(n, a=self.visit(n.a, negated), b=self.visit(n.b, negated))

    def visit_Or(self, n: Or, negated: bool) -> PrimExpr:
        return rebuild(n, a=self.visit(n.a, negated), b=self.visit(n.b, negated))

    def visit_Not(self, n: Not, negated: bool) -> PrimExpr:
        return rebuild(n, a=self.visit(n.a, not negated))

    def visit_CmpOp(self, n: CmpOp, negated: bool) -> PrimExpr:
        if not uses_var(n, lambda v: v in self._ranges):
            return n
        # Under a negation, a condition is widened: it must hold wherever it holds for some values.
        turn = -1 if negated else 1
        try:
            if isinstance(n, (EQ, NE)):
                return self._both_ways(n, turn)
            left, right = _SIDES[type(n)]
            return rebuild(n, a=self._extreme.visit(n.a, left * turn), b=self._extreme.visit(n.b, right * turn))
        except _Unknown:
            return const(negated, "bool")

    def _both_ways(self, n: CmpOp, turn: int) -> PrimExpr:
        a_high, a_low = (self._extreme.visit(n.a, side * turn) for side in (_GREATEST, _LEAST))
        b_high, b_low = (self._extreme.visit(n.b, side * turn) for side in (_GREATEST, _LEAST))
        if isinstance(n, EQ):
            return And(a_high <= b_low, b_high <= a_low)
        return Or(a_high < b_low, b_high < a_low)
