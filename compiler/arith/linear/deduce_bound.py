"""``deduce_bound``: solves a condition for a variable."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.arith.analyzer import Analyzer
from compiler.arith.int_set import NEG_INF, POS_INF, IntervalSet, IntSet
from compiler.arith.interval_arithmetic import eval_set
from compiler.ir.expr.primexpr import EQ, GE, GT, LE, LT, Add, BinaryOp, Call, FloorDiv, IntImm, Mul, PrimExpr, Sub, Var
from compiler.ir.expr.substitute import uses_var

_MIRROR: dict[type[PrimExpr], type[PrimExpr]] = {LT: GT, GT: LT, LE: GE, GE: LE, EQ: EQ}


def deduce_bound(
    var: Var, cond: PrimExpr, hint_map: Mapping[Var, IntervalSet], relax_map: Mapping[Var, IntervalSet]
) -> IntervalSet:
    """Return the values of ``var``, which occurs once in ``cond``, for which it holds whatever the relaxed ones are.

    ``hint_map`` has domains that help to find out the signs of terms, ``relax_map`` those of the variables over which
    the condition has to hold.  The set is empty where nothing can be deduced.
    """
    if isinstance(cond, Call) and getattr(cond.op, "name", "") == "tir.likely":
        cond = cond.args[0]
    if not isinstance(cond, BinaryOp) or type(cond) not in _MIRROR:
        return IntSet.nothing()
    return _Deduction(var, hint_map, relax_map).solve(cond)


class _Deduction:
    def __init__(self, var: Var, hints: Mapping[Var, IntervalSet], relaxed: Mapping[Var, IntervalSet]) -> None:
        self._var = var
        self._hints = {**hints, **relaxed}
        self._relaxed = relaxed
        self._analyzer = Analyzer()
        for v, s in self._hints.items():
            if isinstance(s.min_value, IntImm) and isinstance(s.max_value, IntImm):
                bound = self._analyzer.const_int_bound(s.min_value)._replace(max_value=s.max_value.value)
                self._analyzer.update(v, bound, override=True)

    def solve(self, cond: BinaryOp) -> IntervalSet:
        left, right = uses_var(cond.a, self._var), uses_var(cond.b, self._var)
        if left == right:
            return IntSet.nothing()
        kind, side, other = (type(cond), cond.a, cond.b) if left else (_MIRROR[type(cond)], cond.b, cond.a)
        # side <= other, side >= other or side == other, with both ends included
        if kind is LT:
            kind, other = LE, other - 1
        elif kind is GT:
            kind, other = GE, other + 1
        return self._isolate(side, kind, other)

    def _isolate(self, side: PrimExpr, kind: type[PrimExpr], other: PrimExpr) -> IntervalSet:
        """Move what surrounds the variable to the other side, step by step."""
        while side is not self._var:
            step = self._step(side, kind, other)
            if step is None:
                return IntSet.nothing()
            side, kind, other = step
        return self._result(kind, other)

    def _step(
        self, side: PrimExpr, kind: type[PrimExpr], other: PrimExpr
    ) -> tuple[PrimExpr, type[PrimExpr], PrimExpr] | None:
        if not isinstance(side, (Add, Sub, Mul, FloorDiv)):
            return None
        in_a, in_b = uses_var(side.a, self._var), uses_var(side.b, self._var)
        if in_a == in_b:
            return None
        if isinstance(side, Add):
            return (side.a, kind, other - side.b) if in_a else (side.b, kind, other - side.a)
        if isinstance(side, Sub):
            return (side.a, kind, other + side.b) if in_a else (side.b, _MIRROR[kind], side.a - other)
        if isinstance(side, FloorDiv):
            return self._undo_division(side, kind, other) if in_a else None
        return self._undo_product(side.a if in_a else side.b, side.b if in_a else side.a, kind, other)

    def _undo_product(
        self, side: PrimExpr, factor: PrimExpr, kind: type[PrimExpr], other: PrimExpr
    ) -> tuple[PrimExpr, type[PrimExpr], PrimExpr] | None:
        is_negative = self._analyzer.can_prove(factor < 0)
        if not is_negative and not self._analyzer.can_prove(factor > 0):
            return None
        if kind is EQ:
            if not self._analyzer.can_prove((other % factor).equal(0)):
                return None
            return side, kind, other // factor
        if is_negative:
            kind = _MIRROR[kind]
        if kind is LE:
            return side, kind, other // factor
        return side, kind, (other + (factor + 1 if is_negative else factor - 1)) // factor

    def _undo_division(
        self, side: FloorDiv, kind: type[PrimExpr], other: PrimExpr
    ) -> tuple[PrimExpr, type[PrimExpr], PrimExpr] | None:
        divisor = side.b
        if kind is not EQ and self._analyzer.can_prove(divisor < 0):
            return (side.a, GE, divisor * (other + 1) + 1) if kind is LE else (side.a, LE, divisor * other)
        if kind is EQ or not self._analyzer.can_prove(divisor > 0):
            return None
        if kind is LE:
            return side.a, kind, other * divisor + (divisor - 1)
        return side.a, kind, other * divisor

    def _result(self, kind: type[PrimExpr], other: PrimExpr) -> IntervalSet:
        relaxed = eval_set(other, self._relaxed, self._analyzer)
        if kind is EQ:
            return relaxed if relaxed.is_single_point() else IntSet.nothing()
        if kind is LE:
            low = relaxed.min_value
            return IntSet.nothing() if low is NEG_INF else IntervalSet(NEG_INF, self._analyzer.simplify(low))
        high = relaxed.max_value
        return IntSet.nothing() if high is POS_INF else IntervalSet(self._analyzer.simplify(high), POS_INF)
