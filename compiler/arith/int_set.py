"""Sets of integers with symbolic ends, and the evaluation of an expression over sets of its variables.

The result of an evaluation covers every value that occurs, and possibly more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from compiler.arith.analyzer import Analyzer
from compiler.arith.const_int_bound import is_index_type
from compiler.arith.deep_equal import deep_equal
from compiler.ir.functor import Functor
from compiler.ir.node import Node, node
from compiler.ir.primexpr import (
    Add,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    CmpOp,
    Div,
    ExprLike,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    PrimExpr,
    Ramp,
    Range,
    Select,
    Sub,
    Var,
    binary,
    cast,
    const,
    convert,
)
from compiler.ir.substitute import uses_var

POS_INF = Var("pos_inf", "handle")
NEG_INF = Var("neg_inf", "handle")


def pos_inf() -> Var:
    """Return the upper end of a set that has none."""
    return POS_INF


def neg_inf() -> Var:
    """Return the lower end of a set that has none."""
    return NEG_INF


@node
class IntSet(Node):
    """A set of integers."""

    @staticmethod
    def single_point(point: ExprLike) -> IntervalSet:
        """Return the set of one integer."""
        e = convert(point)
        return IntervalSet(e, e)

    @staticmethod
    def interval(min_value: ExprLike, max_value: ExprLike) -> IntervalSet:
        """Return the integers from ``min_value`` to ``max_value``, both included."""
        return IntervalSet(convert(min_value), convert(max_value))

    @staticmethod
    def everything() -> IntervalSet:
        """Return all integers."""
        return IntervalSet(NEG_INF, POS_INF)

    @staticmethod
    def nothing() -> IntervalSet:
        """Return the empty set."""
        return IntervalSet(POS_INF, NEG_INF)

    @staticmethod
    def from_range(r: Range) -> IntervalSet:
        """Return the integers of a range."""
        if isinstance(r.extent, IntImm) and r.extent.value == 1:
            return IntSet.single_point(r.min)
        return IntervalSet(r.min, Analyzer().simplify(r.min + r.extent - 1))

    @staticmethod
    def from_min_extent(low: ExprLike, extent: ExprLike) -> IntervalSet:
        """Return ``extent`` integers from ``low`` on."""
        return IntSet.from_range(Range.from_min_extent(low, extent))

    @staticmethod
    def vector(vec: PrimExpr) -> IntervalSet:
        """Return a set that covers all lanes of a vector."""
        return eval_set(vec, {})


@node
class IntervalSet(IntSet):
    """The integers from ``min_value`` to ``max_value``, both included."""

    min_value: PrimExpr
    max_value: PrimExpr

    @property
    def min(self) -> PrimExpr:
        """The smallest member."""
        return self.min_value

    @property
    def max(self) -> PrimExpr:
        """The largest member."""
        return self.max_value

    def is_nothing(self) -> bool:
        """Return whether the set is known to be empty."""
        return self.min_value is POS_INF or self.max_value is NEG_INF

    def is_everything(self) -> bool:
        """Return whether the set has no ends."""
        return self.min_value is NEG_INF and self.max_value is POS_INF

    def is_single_point(self) -> bool:
        """Return whether the set is written as one integer."""
        return self.min_value is self.max_value or deep_equal(self.min_value, self.max_value)

    def has_lower_bound(self) -> bool:
        """Return whether there is a smallest member."""
        return self.min_value is not NEG_INF and not self.is_nothing()

    def has_upper_bound(self) -> bool:
        """Return whether there is a largest member."""
        return self.max_value is not POS_INF and not self.is_nothing()

    def is_bounded(self) -> bool:
        """Return whether the set has both ends."""
        return self.has_lower_bound() and self.has_upper_bound()

    def point_value(self) -> PrimExpr:
        """Return the one member of a set that is a single point."""
        return self.min_value

    def cover_range(self, max_range: Range, analyzer: Analyzer | None = None) -> Range:
        """Return a range that holds the set; where the set has no ends it is ``max_range``."""
        if self.is_single_point():
            return Range.from_min_extent(self.min_value, const(1, self.min_value.dtype))
        if not self.is_bounded():
            return max_range
        analyzer = analyzer or Analyzer()
        extent = analyzer.simplify(self.max_value + 1 - self.min_value)
        return Range.from_min_extent(analyzer.simplify(self.min_value), extent)

    def __str__(self) -> str:
        return f"IntervalSet[{self.min_value}, {self.max_value}]"

    __repr__ = __str__


Domain = Range | IntervalSet
DomMap = Mapping[Var, Domain] | Mapping[IterVar, Domain]


def eval_set(expr: PrimExpr | Range | IntervalSet, dom_map: DomMap, analyzer: Analyzer | None = None) -> IntervalSet:
    """Return a set that covers the values of ``expr`` while variables run over their domains.

    Parameters
    ----------
    expr : PrimExpr, Range or IntervalSet
        An expression, or a set whose ends are to be relaxed.
    dom_map : mapping of Var or IterVar to Range or IntervalSet
        Domains; variables that are not in it stay as they are.
    """
    evaluator = _Evaluator(dom_map, analyzer or Analyzer())
    if isinstance(expr, Range):
        return evaluator.interval(IntSet.from_range(expr))
    if isinstance(expr, IntervalSet):
        return evaluator.interval(expr)
    return evaluator.visit(expr)


def to_set(domain: Domain) -> IntervalSet:
    """Return a domain as a set."""
    return IntSet.from_range(domain) if isinstance(domain, Range) else domain


class _Evaluator(Functor):
    """Interval arithmetic with symbolic ends."""

    def __init__(self, dom_map: DomMap, analyzer: Analyzer) -> None:
        self._domains: dict[Var, IntervalSet] = {
            (key.var if isinstance(key, IterVar) else key): to_set(value) for key, value in dom_map.items()
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
        return super().visit(n)  # type: ignore[no-any-return]

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

    def visit_BinaryOp(self, n: BinaryOp) -> IntervalSet:
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
            return self._monotonic(a, b.min_value, lambda end, divisor: binary(Div, end, divisor))
        return IntSet.everything()

    def _monotonic(self, a: IntervalSet, b: PrimExpr, op: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> IntervalSet:
        """Apply an operation that rises with ``a`` where ``b`` is positive and falls where it is negative."""
        if isinstance(b, IntImm) and b.value == 0:
            return IntervalSet(b, b)
        low, high = a.min_value, a.max_value
        if self._not_negative(b):
            return self._span(
                low if low is NEG_INF else op(low, b),
                high if high is POS_INF else op(high, b),
            )
        if self._analyzer.can_prove(b <= 0):
            return self._span(
                NEG_INF if high is POS_INF else op(high, b),
                POS_INF if low is NEG_INF else op(low, b),
            )
        if not a.is_bounded():
            return IntSet.everything()
        rising = b >= 0
        return self._span(
            Select(rising, op(low, b), op(high, b)),
            Select(rising, op(high, b), op(low, b)),
        )

    def _floormod(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        if not b.is_single_point():
            return IntSet.everything()
        divisor = b.min_value
        if not self._analyzer.can_prove(divisor > 0):
            return IntSet.everything()
        if isinstance(divisor, IntImm) and a.is_bounded():
            quotient = self._simplify(a.min_value // divisor)
            if self._analyzer.can_prove_equal(quotient, a.max_value // divisor):
                return self._span(a.min_value - quotient * divisor, a.max_value - quotient * divisor)
        return self._span(const(0, divisor.dtype), divisor - 1)

    def _truncmod(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        if not b.is_single_point() or not self._analyzer.can_prove(b.min_value > 0):
            return IntSet.everything()
        largest = b.min_value - 1
        negative = not (a.has_lower_bound() and self._not_negative(a.min_value))
        return self._span(largest * -1 if negative else const(0, largest.dtype), largest)

    def _min(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        low = NEG_INF if (a.min_value is NEG_INF or b.min_value is NEG_INF) else binary(Min, a.min_value, b.min_value)
        ends = [e for e in (a.max_value, b.max_value) if e is not POS_INF]
        return self._span(low, POS_INF if not ends else ends[0] if len(ends) == 1 else binary(Min, *ends))

    def _max(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        high = POS_INF if (a.max_value is POS_INF or b.max_value is POS_INF) else binary(Max, a.max_value, b.max_value)
        ends = [e for e in (a.min_value, b.min_value) if e is not NEG_INF]
        return self._span(NEG_INF if not ends else ends[0] if len(ends) == 1 else binary(Max, *ends), high)

    def _not_negative(self, e: PrimExpr) -> bool:
        return e is not NEG_INF and self._analyzer.can_prove(e >= 0)

    def visit_CmpOp(self, n: CmpOp) -> IntervalSet:
        return self._truth(n)

    def visit_Not(self, n: Not) -> IntervalSet:
        return self._truth(n)

    def _truth(self, n: PrimExpr) -> IntervalSet:
        if not self._uses_domain(n):
            return IntervalSet(n, n)
        return IntervalSet(const(False), const(True))

    def visit_Select(self, n: Select) -> IntervalSet:
        condition = self.visit(n.condition)
        a, b = self.visit(n.true_value), self.visit(n.false_value)
        if a.is_single_point() and b.is_single_point() and condition.is_single_point():
            return self._point(Select(condition.min_value, a.min_value, b.min_value))
        return union((a, b), self._analyzer)

    def visit_Ramp(self, n: Ramp) -> IntervalSet:
        last = n.stride * (n.lanes - 1)
        zero = const(0, n.base.dtype)
        steps = IntervalSet(self._simplify(binary(Min, zero, last)), self._simplify(binary(Max, zero, last)))
        return self._add(self.visit(n.base), self.interval(steps))

    def visit_Broadcast(self, n: Broadcast) -> IntervalSet:
        return self.visit(n.value)

    def visit_Cast(self, n: Cast) -> IntervalSet:
        inner = self.visit(n.value)
        if not (is_index_type(n.dtype) and n.value.dtype.startswith(("int", "uint", "bool"))):
            return self.visit_PrimExpr(n)
        if inner.is_single_point():
            return self._point(cast(n.dtype, inner.min_value))
        low = inner.min_value if inner.min_value is NEG_INF else cast(n.dtype, inner.min_value)
        return IntervalSet(low, inner.max_value if inner.max_value is POS_INF else cast(n.dtype, inner.max_value))

    def visit_Call(self, n: Call) -> IntervalSet:
        name = getattr(n.op, "name", "")
        if name == "tir.likely":
            return self.visit(n.args[0])
        if name == "tir.if_then_else" and self._uses_domain(n):
            return union((self.visit(n.args[1]), self.visit(n.args[2])), self._analyzer)
        return self.visit_PrimExpr(n)


_COMBINE: dict[type[BinaryOp], Callable[[_Evaluator, IntervalSet, IntervalSet], IntervalSet]] = {
    Add: _Evaluator._add,
    Sub: _Evaluator._sub,
    Mul: _Evaluator._mul,
    FloorDiv: _Evaluator._floordiv,
    FloorMod: _Evaluator._floormod,
    Div: _Evaluator._truncdiv,
    Mod: _Evaluator._truncmod,
    Min: _Evaluator._min,
    Max: _Evaluator._max,
}


def union(sets: Iterable[IntervalSet], analyzer: Analyzer | None = None) -> IntervalSet:
    """Return the smallest interval that covers all sets."""
    simplify = (analyzer or Analyzer()).simplify
    result = IntSet.nothing()
    for s in sets:
        if s.is_nothing():
            continue
        if result.is_nothing():
            result = s
            continue
        low = (
            NEG_INF
            if (result.min_value is NEG_INF or s.min_value is NEG_INF)
            else _end(Min, result.min_value, s.min_value)
        )
        high = (
            POS_INF
            if (result.max_value is POS_INF or s.max_value is POS_INF)
            else _end(Max, result.max_value, s.max_value)
        )
        result = IntervalSet(low if low is NEG_INF else simplify(low), high if high is POS_INF else simplify(high))
    return result


def _end(kind: type[BinaryOp], a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return a if deep_equal(a, b) else binary(kind, a, b)


def intersect(sets: Iterable[IntervalSet], analyzer: Analyzer | None = None) -> IntervalSet:
    """Return the members that all sets share."""
    simplify = (analyzer or Analyzer()).simplify
    low: PrimExpr = NEG_INF
    high: PrimExpr = POS_INF
    for s in sets:
        if s.is_nothing():
            return s
        if s.min_value is not NEG_INF:
            low = s.min_value if low is NEG_INF else simplify(binary(Max, low, s.min_value))
        if s.max_value is not POS_INF:
            high = s.max_value if high is POS_INF else simplify(binary(Min, high, s.max_value))
    if isinstance(low, IntImm) and isinstance(high, IntImm) and low.value > high.value:
        return IntSet.nothing()
    return IntervalSet(low, high)
