"""The normal form of index arithmetic: a constant plus scaled pieces ``(index % upper) // lower``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler.arith.const_int_bound import ConstIntBoundAnalyzer, Interval
from compiler.arith.deep_equal import deep_equal, fingerprint
from compiler.ir.expr.primexpr import Add, Div, FloorDiv, FloorMod, IntImm, Mod, Mul, PrimExpr, Sub, trunc_div
from compiler.ir.origin import NO_SPAN, Span, derived_from

_LONG = 16
"""Terms from which on a sum looks them up instead of comparing a new one with each."""

NO_UPPER = 0
"""Stands for a piece that is not reduced by a modulus."""


def multiples(e: PrimExpr) -> Iterator[tuple[PrimExpr, int]]:
    """Yield the terms of a sum, the last one first, and what each is multiplied by."""
    while True:
        term = e.b if isinstance(e, Add) else e
        if isinstance(term, Mul) and isinstance(term.b, IntImm) and term.b.value > 1:
            yield term.a, term.b.value
        else:
            yield term, 1
        if not isinstance(e, Add):
            return
        e = e.a


@dataclass(slots=True, eq=False)
class Split:
    """The value ``(index % upper) // lower * scale``, rounded down or, where it ``truncates``, towards zero.

    ``lower`` divides ``upper``.  ``span`` names where the piece comes from.
    """

    index: PrimExpr
    scale: int = 1
    lower: int = 1
    upper: int = NO_UPPER
    span: Span = NO_SPAN
    truncates: bool = False

    @property
    def is_index(self) -> bool:
        """Whether this is a multiple of the index, neither divided nor reduced."""
        return self.lower == 1 and self.upper == NO_UPPER

    def scaled(self, scale: int, span: Span = NO_SPAN) -> Split:
        """Return the same piece with another scale, and with more origins."""
        span = self.span | span if span else self.span
        return Split(self.index, scale, self.lower, self.upper, span, self.truncates)

    def same_piece(self, other: Split) -> bool:
        """Return whether two pieces differ in their scales only."""
        return (
            self.lower == other.lower
            and self.upper == other.upper
            and self.rounds_as(other)
            and (self.index is other.index or deep_equal(self.index, other.index))
        )

    def rounds_as(self, other: Split) -> bool:
        """Return whether two pieces of one index round alike."""
        return self.truncates == other.truncates or self.is_index

    def above(self, other: Split) -> Split | None:
        """Return the one piece that this, right above the other in the same index, makes together with it."""
        if self.lower != other.upper or not self.rounds_as(other):
            return None
        if self.scale * other.lower == other.scale * self.lower and deep_equal(self.index, other.index):
            span = self.span | other.span
            return Split(self.index, other.scale, other.lower, self.upper, span, other.truncates)
        return None

    def interval(self, bounds: ConstIntBoundAnalyzer) -> Interval:
        """Return the smallest and the largest value."""
        low, high = bounds.visit(self.index)
        if self.truncates and low < 0:
            low, high = self._truncated(low, high)
            return (low, high) if self.scale >= 0 else (high, low)
        if self.upper:
            if low // self.upper == high // self.upper:
                low, high = low % self.upper, high % self.upper
            else:
                low, high = 0, self.upper - 1
        low, high = low // self.lower * self.scale, high // self.lower * self.scale
        return (low, high) if self.scale >= 0 else (high, low)

    def _truncated(self, low: int, high: int) -> Interval:
        """Return the ends of the value for an index from ``low``, which is negative, to ``high``."""
        if self.upper:
            low, high = max(low, 1 - self.upper), min(max(high, 0), self.upper - 1)
        return trunc_div(low, self.lower) * self.scale, trunc_div(high, self.lower) * self.scale

    def expression(self, bounds: ConstIntBoundAnalyzer) -> PrimExpr:
        """Return the piece without its scale."""
        e, dtype = self.index, self.index.dtype
        quotient, remainder = (Div, Mod) if self.truncates else (FloorDiv, FloorMod)
        if self.upper:
            low, high = bounds.visit(e)
            if low < (1 - self.upper if self.truncates else 0) or high >= self.upper:
                e = remainder(e, IntImm(dtype, self.upper))
        return e if self.lower == 1 else quotient(e, IntImm(dtype, self.lower))


@dataclass(slots=True, eq=False)
class Sum:
    """``base`` plus the values of ``terms``; no two of them are pieces that could be merged."""

    dtype: str
    terms: list[Split]
    base: int = 0
    _fingerprints: set[int] | None = field(default=None, init=False, repr=False)

    def add(self, other: Sum, factor: int = 1, span: Span = NO_SPAN) -> None:
        """Add ``other * factor`` to this sum; its terms also come from ``span``."""
        if factor == 0:
            return
        self.base += other.base * factor
        for term in other.terms:
            self.add_term(term if factor == 1 and not span else term.scaled(term.scale * factor, span))

    def add_term(self, term: Split) -> None:
        """Add one piece, merged with those that it fits, in place of the first of them."""
        if (self._fingerprints is not None or len(self.terms) > _LONG) and self._is_new(term):
            self.terms.append(term)
            return
        for i, mine in enumerate(self.terms):
            if mine.same_piece(term):
                merged: Split | None = mine.scaled(mine.scale + term.scale, term.span)
            else:
                merged = mine.above(term) or term.above(mine)
                if merged is None:
                    continue
            del self.terms[i]
            if merged is not None and merged.scale:
                behind = self.terms[i:]
                del self.terms[i:]
                self.add_term(merged)
                for other in behind:
                    self.add_term(other)
            return
        self.terms.append(term)

    def _is_new(self, term: Split) -> bool:
        """Return whether no piece of a long sum has the index of ``term``, and note that one does from now on."""
        if self._fingerprints is None:
            self._fingerprints = {fingerprint(mine.index) for mine in self.terms}
        key = fingerprint(term.index)
        if key in self._fingerprints:
            return False
        self._fingerprints.add(key)
        return True

    def separate(self, divisor: int) -> tuple[Sum, Sum]:
        """Return the part that ``divisor`` divides, term by term, and the rest."""
        whole = Sum(self.dtype, [], 0)
        rest = Sum(self.dtype, [], 0)
        for term in self.terms:
            (rest if term.scale % divisor else whole).terms.append(term)
        (rest if self.base % divisor else whole).base = self.base
        return whole, rest

    def exactly_divided(self, divisor: int) -> Sum:
        """Return ``self // divisor`` where it divides every scale."""
        return Sum(self.dtype, [t.scaled(t.scale // divisor) for t in self.terms], self.base // divisor)

    def interval(self, bounds: ConstIntBoundAnalyzer) -> Interval:
        """Return the smallest and the largest value."""
        low = high = self.base
        for term in self.terms:
            a, b = term.interval(bounds)
            low, high = low + a, high + b
        return low, high

    def expression(self, bounds: ConstIntBoundAnalyzer) -> PrimExpr:
        """Return the sum written out: positive terms by falling scale, the constant, then what is subtracted."""
        if not self.terms:
            return IntImm(self.dtype, self.base)
        if len(self.terms) == 1 and self.base == 0 and self.terms[0].scale != -1:
            return self._written(self.terms[0], self.terms[0].scale, bounds)
        terms = sorted(self.terms, key=_written_order)
        result: PrimExpr | None = None
        for term in terms:
            if term.scale > 0:
                value = self._written(term, term.scale, bounds)
                result = value if result is None else Add(result, value)
        if result is None:
            result = IntImm(self.dtype, max(self.base, 0))
        elif self.base > 0:
            result = Add(result, IntImm(self.dtype, self.base))
        for term in terms:
            if term.scale < 0:
                result = Sub(result, self._written(term, -term.scale, bounds))
        return Sub(result, IntImm(self.dtype, -self.base)) if self.base < 0 else result

    def _written(self, term: Split, scale: int, bounds: ConstIntBoundAnalyzer) -> PrimExpr:
        """Write a term out; what is built for it has its origins."""
        if term.span:
            with derived_from(term.span):
                return self._scaled(term.expression(bounds), scale)
        return self._scaled(term.expression(bounds), scale)

    def _scaled(self, e: PrimExpr, scale: int) -> PrimExpr:
        return e if scale == 1 else Mul(e, IntImm(self.dtype, scale))


def _written_order(term: Split) -> tuple[int, int, float]:
    return -term.scale, -term.lower, -term.upper if term.upper else -math.inf
