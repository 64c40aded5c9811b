"""Integer sets with symbolic bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from compiler.arith.analyzer import Analyzer
from compiler.arith.deep_equal import deep_equal
from compiler.ir.dtype import lanes as _lanes
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Range, Var, binary, const, convert
from compiler.ir.extension import public_module
from compiler.ir.node import Node, node

__all__ = [
    "NEG_INF", "POS_INF", "IntSet", "IntervalSet", "intersect", "neg_inf", "pos_inf", "to_set", "union",
    "union_lower_bound",
]  # fmt: skip

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
    def single_point(point: expr.ExprLike) -> IntervalSet:
        """Return the set of one integer."""
        e = convert(point)
        return IntervalSet(e, e)

    @staticmethod
    def interval(min_value: expr.ExprLike, max_value: expr.ExprLike) -> IntervalSet:
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
    def vector(vec: PrimExpr) -> IntervalSet:
        """Return a set that covers the lanes of a vector of integers, such as a ramp; a scalar is one lane."""
        if isinstance(vec, expr.Broadcast):
            return IntSet.vector(vec.value)
        if not isinstance(vec, expr.Ramp):
            return IntSet.single_point(vec) if _lanes(convert(vec).dtype) == 1 else IntSet.everything()
        simplify = Analyzer().simplify
        last = simplify(vec.stride * (vec.lanes - 1))
        zero = const(0, last.dtype)
        low, high = (last, zero) if Analyzer().can_prove(last < 0) else (zero, last)
        return IntervalSet(simplify(vec.base + low), simplify(vec.base + high))

    @staticmethod
    def from_range(r: Range) -> IntervalSet:
        """Return the integers of a range."""
        if isinstance(r.extent, expr.IntImm) and r.extent.value == 1:
            return IntSet.single_point(r.min)
        return IntervalSet(r.min, Analyzer().simplify(r.min + r.extent - 1))

    @staticmethod
    def from_min_extent(low: expr.ExprLike, extent: expr.ExprLike) -> IntervalSet:
        """Return ``extent`` integers from ``low`` on."""
        return IntSet.from_range(Range.from_min_extent(low, extent))


@node
class IntervalSet(IntSet):
    """The integers from ``min_value`` to ``max_value``, both included; ``neg_inf()`` and ``pos_inf()`` are no ends."""

    min_value: PrimExpr
    max_value: PrimExpr

    def __post_init__(self) -> None:
        if not (isinstance(self.min_value, PrimExpr) and isinstance(self.max_value, PrimExpr)):
            object.__setattr__(self, "min_value", convert(self.min_value))
            object.__setattr__(self, "max_value", convert(self.max_value))

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


def to_set(domain: Domain) -> IntervalSet:
    """Return a domain as a set."""
    return IntSet.from_range(domain) if isinstance(domain, Range) else domain


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
        low, high = (
            outer_end(expr.Min, result.min_value, s.min_value),
            outer_end(expr.Max, result.max_value, s.max_value),
        )
        result = IntervalSet(low if low is NEG_INF else simplify(low), high if high is POS_INF else simplify(high))
    return result


def union_lower_bound(sets: Iterable[IntervalSet]) -> IntervalSet:
    """Return an interval all of whose members belong to one of the sets.

    It is the union, as far as the sets are known to overlap or to be neighbours; the first one otherwise.
    """
    analyzer = Analyzer()
    result = IntSet.nothing()
    for s in sets:
        if s.is_nothing():
            continue
        if result.is_nothing():
            result = s
        elif _reaches(result, s, analyzer) and _reaches(s, result, analyzer):
            result = union((result, s), analyzer)
    return result


def _reaches(a: IntervalSet, b: IntervalSet, analyzer: Analyzer) -> bool:
    """Return whether ``a`` does not end before ``b`` begins; neither is empty."""
    if a.max_value is POS_INF or b.min_value is NEG_INF:
        return True
    return analyzer.can_prove(a.max_value + 1 >= b.min_value)


def outer_end(kind: type[expr.BinaryOp], a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Return the smaller or larger one of two ends of intervals on the same side; infinite if one of them is."""
    for end in (a, b):
        if end is NEG_INF or end is POS_INF:
            return end
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
            low = s.min_value if low is NEG_INF else simplify(binary(expr.Max, low, s.min_value))
        if s.max_value is not POS_INF:
            high = s.max_value if high is POS_INF else simplify(binary(expr.Min, high, s.max_value))
    if isinstance(low, expr.IntImm) and isinstance(high, expr.IntImm) and low.value > high.value:
        return IntSet.nothing()
    return IntervalSet(low, high)


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.arith.int_set", __all__)
