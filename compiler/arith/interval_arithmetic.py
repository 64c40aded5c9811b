"""Interval arithmetic with symbolic bounds.

The result covers every value that occurs, and possibly more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from compiler.arith.analyzer import Analyzer, register_set_evaluator
from compiler.arith.const_int_bound import is_index_type
from compiler.arith.int_set import NEG_INF, POS_INF, Domain, IntervalSet, IntSet, outer_end, to_set, union
from compiler.arith.iterators.split_sum import multiples
from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as prim
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var, binary, cast, const
from compiler.ir.expr.substitute import uses_var
from compiler.ir.functor import Functor

DomMap = Mapping[Var, Domain] | Mapping[prim.IterVar, Domain]


def eval_set(
    expr: PrimExpr | prim.Range | IntervalSet, dom_map: DomMap, analyzer: Analyzer | None = None
) -> IntervalSet:
    """Return a set that covers the values of ``expr`` while variables run over their domains; others stay."""
    evaluator = _Evaluator(dom_map, analyzer or Analyzer())
    if isinstance(expr, prim.Range):
        return evaluator.interval(IntSet.from_range(expr))
    if isinstance(expr, IntervalSet):
        return evaluator.interval(expr)
    return evaluator.visit(expr)


class _Evaluator(Functor):
    """Interval arithmetic with symbolic ends."""

    def __init__(self, dom_map: DomMap, analyzer: Analyzer) -> None:
        self._domains: dict[Var, IntervalSet] = {
            (key.var if isinstance(key, prim.IterVar) else key): to_set(value) for key, value in dom_map.items()
        }
        self._analyzer = analyzer
        self._simplify = analyzer.simplify
        self._active: list[Var] = []

    def interval(self, s: IntervalSet) -> IntervalSet:
        """Return the set with its ends relaxed."""
        if s.is_nothing():
            return s
        low = NEG_INF if s.min_value is NEG_INF else self.visit(s.min_value).min_value
        if s.max_value is s.min_value:
            high = self.visit(s.min_value).max_value
        else:
            high = POS_INF if s.max_value is POS_INF else self.visit(s.max_value).max_value
        return IntervalSet(low, high)

    def visit(self, n: PrimExpr, *args: object) -> IntervalSet:
        if isinstance(n, IntImm):
            return IntervalSet(n, n)
        found: IntervalSet = super().visit(n)
        return found

    def visit_PrimExpr(self, n: PrimExpr) -> IntervalSet:
        return IntSet.everything() if self._uses_domain(n) else IntervalSet(n, n)

    def _uses_domain(self, n: PrimExpr) -> bool:
        return bool(self._domains) and uses_var(n, lambda v: v in self._domains)

    def visit_Var(self, n: Var) -> IntervalSet:
        domain = self._domains.get(n)
        if domain is None or any(v is n for v in self._active):
            return IntervalSet(n, n)
        if domain.min_value is n and domain.max_value is n:
            return domain
        self._active.append(n)
        try:
            return self.interval(domain)
        finally:
            self._active.pop()

    def visit_BinaryOp(self, n: prim.BinaryOp) -> IntervalSet:
        if is_index_type(n.dtype) and (numbers := self._numbers(n)) is not None:
            return numbers
        a, b = self.visit(n.a), self.visit(n.b)
        if a.is_nothing() or b.is_nothing():
            return IntSet.nothing()
        kind = type(n)
        if a.is_single_point() and b.is_single_point():
            if a.min_value is n.a and b.min_value is n.b:
                return IntervalSet(n, n)
            return self._point(binary(kind, a.min_value, b.min_value))
        rule = _COMBINE.get(kind)
        if rule is None or not is_index_type(n.dtype):
            return self.visit_PrimExpr(n)
        return rule(self, a, b)

    def _numbers(self, n: prim.BinaryOp) -> IntervalSet | None:
        """Return the numbers that a sum of multiples of variables lies between, as most indices do; or None."""
        low = high = 0
        for term, scale in multiples(n):
            domain = self._domains.get(term) if isinstance(term, Var) else None
            first, last = (term, term) if domain is None else (domain.min_value, domain.max_value)
            if (
                not isinstance(first, IntImm)
                or not isinstance(last, IntImm)
                or not n.dtype == first.dtype == last.dtype
            ):
                return None
            low, high = low + first.value * scale, high + last.value * scale
        least, most = dt.int_range(n.dtype)
        return IntervalSet(IntImm(n.dtype, low), IntImm(n.dtype, high)) if least <= low and high <= most else None

    def _point(self, e: PrimExpr) -> IntervalSet:
        value = self._simplify(e)
        return IntervalSet(value, value)

    def _span(self, low: PrimExpr, high: PrimExpr) -> IntervalSet:
        if low is high:
            return self._point(low)
        return IntervalSet(
            low if low is NEG_INF else self._simplify(low), high if high is POS_INF else self._simplify(high)
        )

    def _add(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        low = a.min_value + b.min_value if a.has_lower_bound() and b.has_lower_bound() else NEG_INF
        high = a.max_value + b.max_value if a.has_upper_bound() and b.has_upper_bound() else POS_INF
        return self._span(low, high)

    def _sub(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        low = a.min_value - b.max_value if a.has_lower_bound() and b.has_upper_bound() else NEG_INF
        high = a.max_value - b.min_value if a.has_upper_bound() and b.has_lower_bound() else POS_INF
        return self._span(low, high)

    def _mul(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        if a.is_single_point():
            a, b = b, a
        if not b.is_single_point():
            return self._product(a, b)
        return self._monotonic(a, b.min_value, lambda end, factor: end * factor)

    def _product(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        """Multiply two intervals: exact ends where neither has negative members."""
        if a.is_bounded() and b.is_bounded() and self._not_negative(a.min_value) and self._not_negative(b.min_value):
            return self._span(a.min_value * b.min_value, a.max_value * b.max_value)
        return IntSet.everything()

    def _floordiv(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        if b.is_single_point():
            return self._monotonic(a, b.min_value, lambda end, divisor: end // divisor)
        return IntSet.everything()

    def _truncdiv(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        if b.is_single_point():
            return self._monotonic(a, b.min_value, lambda end, divisor: binary(prim.Div, end, divisor))
        return IntSet.everything()

    def _monotonic(self, a: IntervalSet, b: PrimExpr, op: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> IntervalSet:
        """Apply an operation that rises with ``a`` where ``b`` is positive and falls where it is negative."""
        if isinstance(b, IntImm) and b.value == 0:
            return IntervalSet(b, b)
        low, high = a.min_value, a.max_value
        if self._not_negative(b):
            return self._span(low if low is NEG_INF else op(low, b), high if high is POS_INF else op(high, b))
        if self._analyzer.can_prove(b <= 0):
            return self._span(NEG_INF if high is POS_INF else op(high, b), POS_INF if low is NEG_INF else op(low, b))
        if not a.is_bounded():
            return IntSet.everything()
        rising = b >= 0
        return self._span(prim.Select(rising, op(low, b), op(high, b)), prim.Select(rising, op(high, b), op(low, b)))

    def _floormod(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        if not b.is_single_point():
            return IntSet.everything()
        divisor = b.min_value
        if not self._analyzer.can_prove(divisor > 0):
            return self._remainders(divisor)
        if isinstance(divisor, IntImm) and a.is_bounded():
            quotient = self._simplify(a.min_value // divisor)
            if self._analyzer.can_prove_equal(quotient, a.max_value // divisor):
                return self._span(a.min_value - quotient * divisor, a.max_value - quotient * divisor)
        return self._span(const(0, divisor.dtype), divisor - 1)

    def _truncmod(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        if not b.is_single_point():
            return IntSet.everything()
        if not self._analyzer.can_prove(b.min_value > 0):
            return self._remainders(b.min_value)
        largest = b.min_value - 1
        negative = not (a.has_lower_bound() and self._not_negative(a.min_value))
        return self._span(largest * -1 if negative else const(0, largest.dtype), largest)

    def _remainders(self, divisor: PrimExpr) -> IntervalSet:
        """Return what every remainder by a divisor of either sign is in, less than the divisor without its sign."""
        size = self._simplify(prim.Select(divisor >= 0, divisor, divisor * -1))
        return self._span(1 - size, size - 1)

    def _min(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        low = outer_end(prim.Min, a.min_value, b.min_value)
        ends = [e for e in (a.max_value, b.max_value) if e is not POS_INF]
        return self._span(low, POS_INF if not ends else ends[0] if len(ends) == 1 else binary(prim.Min, *ends))

    def _max(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        high = outer_end(prim.Max, a.max_value, b.max_value)
        ends = [e for e in (a.min_value, b.min_value) if e is not NEG_INF]
        return self._span(NEG_INF if not ends else ends[0] if len(ends) == 1 else binary(prim.Max, *ends), high)

    def _not_negative(self, e: PrimExpr) -> bool:
        return e.value >= 0 if type(e) is IntImm else e is not NEG_INF and self._analyzer.can_prove(e >= 0)

    def _truth(self, n: PrimExpr) -> IntervalSet:
        if not self._uses_domain(n):
            return IntervalSet(n, n)
        return IntervalSet(const(False), const(True))

    visit_CmpOp = visit_Not = _truth

    def visit_Select(self, n: prim.Select) -> IntervalSet:
        condition = self.visit(n.condition)
        a, b = self.visit(n.true_value), self.visit(n.false_value)
        if a.is_single_point() and b.is_single_point() and condition.is_single_point():
            return self._point(prim.Select(condition.min_value, a.min_value, b.min_value))
        return union((a, b), self._analyzer)

    def visit_Ramp(self, n: prim.Ramp) -> IntervalSet:
        last = n.stride * (n.lanes - 1)
        zero = const(0, n.base.dtype)
        steps = IntervalSet(self._simplify(binary(prim.Min, zero, last)), self._simplify(binary(prim.Max, zero, last)))
        return self._add(self.visit(n.base), self.interval(steps))

    def visit_Broadcast(self, n: prim.Broadcast) -> IntervalSet:
        return self.visit(n.value)

    def visit_Cast(self, n: prim.Cast) -> IntervalSet:
        inner = self.visit(n.value)
        if not (is_index_type(n.dtype) and n.value.dtype.startswith(("int", "uint", "bool"))):
            return self.visit_PrimExpr(n)
        if inner.is_single_point():
            return self._point(cast(n.dtype, inner.min_value))
        low = inner.min_value if inner.min_value is NEG_INF else cast(n.dtype, inner.min_value)
        return IntervalSet(low, inner.max_value if inner.max_value is POS_INF else cast(n.dtype, inner.max_value))

    def visit_Call(self, n: prim.Call) -> IntervalSet:
        name = getattr(n.op, "name", "")
        if name == "tir.likely":
            return self.visit(n.args[0])
        if name == "tir.if_then_else" and self._uses_domain(n):
            return union((self.visit(n.args[1]), self.visit(n.args[2])), self._analyzer)
        if name in ("tir.bitwise_or", "tir.bitwise_xor") and self._uses_domain(n):
            return self._bits([self.visit(argument) for argument in n.args], n)
        return self.visit_PrimExpr(n)

    def _bits(self, sets: Sequence[IntervalSet], n: prim.Call) -> IntervalSet:
        if all(s.is_bounded() and self._not_negative(s.min_value) for s in sets):
            high = max(self._analyzer.const_int_bound(s.max_value).max_value for s in sets)
            if high < 1 << 30:
                return IntervalSet(const(0, n.dtype), const((1 << high.bit_length()) - 1, n.dtype))
        return self.visit_PrimExpr(n)


_COMBINE: dict[type[prim.BinaryOp], Callable[[_Evaluator, IntervalSet, IntervalSet], IntervalSet]] = {
    prim.Add: _Evaluator._add,
    prim.Sub: _Evaluator._sub,
    prim.Mul: _Evaluator._mul,
    prim.FloorDiv: _Evaluator._floordiv,
    prim.FloorMod: _Evaluator._floormod,
    prim.Div: _Evaluator._truncdiv,
    prim.Mod: _Evaluator._truncmod,
    prim.Min: _Evaluator._min,
    prim.Max: _Evaluator._max,
}

register_set_evaluator(eval_set)
