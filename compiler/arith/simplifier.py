"""Shared by the simplifiers: memoisation, and queries for rules and comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from math import gcd
from typing import ClassVar

from compiler.arith.const_int_bound import UNBOUNDED, Interval
from compiler.arith.deep_equal import deep_equal, tokens
from compiler.arith.extension import Extension
from compiler.arith.facts import NEGATION, Facts
from compiler.arith.integer_region import certain_region, possible_region
from compiler.arith.overflow import may_overflow_after
from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var, const
from compiler.ir.expr.substitute import free_vars, substitute, uses_var
from compiler.ir.functor import Mutator

MAX_REWRITES = 64
"""How deep rewritten results are rewritten again; real expressions need a few."""

MAX_NESTED_DIFFERENCES = 2
"""How many differences are simplified one inside of the other.  Those of nested minima and maxima are again made of
minima and maxima: without an end, each level would compare more of them than the one outside."""


@dataclass(slots=True)
class RewriteSimplifyStats:
    """What a simplifier has done; expressions that were remembered are not counted as visited."""

    nodes_visited: int = 0
    constraints_entered: int = 0
    rewrites_performed: int = 0
    max_recursive_depth: int = 0
    num_recursive_rewrites: int = 0

    @property
    def rewrites_attempted(self) -> int:
        """How often rules were tried: once for each node visited."""
        return self.nodes_visited


class Simplifier(Mutator):
    """Base of the simplifiers, whatever their rules are.  Results are remembered until facts change.

    ``memo_name`` says which of the memos of the facts is this simplifier's.
    """

    memo_name: ClassVar[str]

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.stats = RewriteSimplifyStats()
        self._rewrites = 0
        self._assuming = False
        self._differences = 0

    def __call__(self, e: PrimExpr) -> PrimExpr:
        """Return ``e`` simplified."""
        return self.visit(e)

    def visit(self, n: PrimExpr, *args: object) -> PrimExpr:
        """Return ``n`` simplified; the very same object where nothing changed."""
        if type(n) is IntImm:
            return n
        memo = self.facts.memos[self.memo_name]
        simplified = memo.get(n)
        if simplified is not None:
            return simplified
        self.stats.nodes_visited += 1
        result: PrimExpr = Mutator.visit(self, n)
        if result is not n:
            self.stats.rewrites_performed += 1
            memo[result] = result
        memo[n] = result
        return result

    @property
    def is_too_deep(self) -> bool:
        """Whether no more results should be rewritten again."""
        return self._rewrites > MAX_REWRITES

    def resimplify(self, e: PrimExpr) -> PrimExpr:
        """Simplify a result of simplification."""
        self._rewrites += 1
        self.stats.num_recursive_rewrites += 1
        self.stats.max_recursive_depth = max(self.stats.max_recursive_depth, self._rewrites)
        try:
            return self.visit(e)
        finally:
            self._rewrites -= 1

    def low(self, e: PrimExpr) -> int:
        """Return the smallest value of ``e``."""
        return self.facts.bounds.visit(e)[0]

    def high(self, e: PrimExpr) -> int:
        """Return the largest value of ``e``."""
        return self.facts.bounds.visit(e)[1]

    def divisible(self, e: PrimExpr, divisor: int) -> bool:
        """Return whether ``divisor`` always divides ``e``."""
        coeff, base = self.facts.modular.visit(e)
        return coeff % divisor == 0 and base % divisor == 0

    def within_block(self, e: PrimExpr, distance: int, size: int) -> bool:
        """Return whether ``e`` and ``e + distance`` always have the same quotient by ``size``."""
        low, high = self.facts.bounds.visit(e)
        if low // size == (high + distance) // size and (low + distance) // size == high // size:
            return True
        coeff, base = self.facts.modular.visit(e)
        block = gcd(coeff, size)
        return 0 <= base % block + distance < block

    def is_reducible(self, e: PrimExpr, divisor: int) -> bool:
        """Return whether the remainder of ``e`` is always the same, and ``e`` is not that already."""
        coeff, base = self.facts.modular.visit(e)
        return coeff % divisor == 0 and not (type(e) is IntImm and e.value == base % divisor)

    def is_ordered(self, e: PrimExpr) -> bool:
        """Return whether of two values of the type of ``e`` one is less, or they are equal."""
        return dt.is_integral(e.dtype)

    def varies(self, e: PrimExpr) -> bool:
        """Return whether ``e`` is no constant: one that is taken out of a sum is multiplied in again."""
        return type(e) is not IntImm

    def prove(self, condition: PrimExpr) -> bool:
        """Return whether ``condition`` is known to hold."""
        if self.is_too_deep:
            return False
        result = self.visit(condition)
        return isinstance(result, IntImm) and result.value == 1

    def stays_in_range(self, old: PrimExpr, new: PrimExpr) -> bool:
        """Return whether nothing overflows in ``new``, which ``old`` was rewritten to, that does not in ``old``."""
        return not may_overflow_after(old, new, self.facts.bounds, self.facts.loaded)

    def equal(self, a: PrimExpr, b: PrimExpr) -> bool:
        """Return whether two expressions are known to be equal."""
        difference = self.visit(expr.Sub(a, b))
        return isinstance(difference, IntImm) and difference.value == 0

    def compare(self, a: PrimExpr, b: PrimExpr) -> int | None:
        """Return -1 if ``a <= b`` always holds, 1 if ``a >= b`` does, 0 if both do, None if neither is known."""
        low, high = self.difference(a, b)
        if low == high == 0:
            return 0
        if high <= 0:
            return -1
        return 1 if low >= 0 else None

    def difference(self, a: PrimExpr, b: PrimExpr) -> Interval:
        """Return the interval of ``a - b``."""
        (p, q), (r, s) = self.facts.bounds.visit(a), self.facts.bounds.visit(b)
        low, high = p - s, q - r
        if low > 0 or high < 0 or self.is_too_deep or self._differences >= MAX_NESTED_DIFFERENCES:
            return low, high
        if (type(a) is IntImm or type(b) is IntImm) and not self.facts.is_symbolic:
            return low, high  # nothing can cancel
        memo = self.facts.differences
        key = (self.memo_name, self._differences, self._assuming, tokens(a), tokens(b))
        interval = memo.get(key)
        if interval is None:
            with self._within_a_difference():
                exact = self.resimplify(expr.Sub(a, b))
                for least, most in self._ends(exact):
                    low, high = max(low, least), min(high, most)
            interval = memo[key] = low, high
        return interval

    @contextmanager
    def _within_a_difference(self) -> Iterator[None]:
        """Simplify operands of a difference, whose own differences are found from intervals alone at some depth.

        What is simplified there is remembered apart, as more can be known outside.
        """
        self._differences += 1
        if self._differences < MAX_NESTED_DIFFERENCES:
            try:
                yield
            finally:
                self._differences -= 1
            return
        memos = self.facts.memos
        memo = memos[self.memo_name]
        memos[self.memo_name] = memos.setdefault(f"{self.memo_name} within differences", {})
        try:
            yield
        finally:
            self._differences -= 1
            memos[self.memo_name] = memo

    def _ends(self, e: PrimExpr) -> Iterator[Interval]:
        """Yield what is known about ``e``: its interval, and ends from symbolic ranges and from assumed comparisons."""
        interval = self.facts.bounds.visit(e)
        yield interval
        if interval[0] > 0 or interval[1] < 0:
            return
        if self.facts.symbolic_variables(e):
            yield self.facts.bounds.visit(self._extreme(e, 0))[0], UNBOUNDED
            yield -UNBOUNDED, self.facts.bounds.visit(self._extreme(e, 1))[1]
        if self.facts.not_positive and not self._assuming:
            with self._one_assumption():
                for less in self.facts.not_positive:
                    if less.dtype == e.dtype:  # e + less <= e <= e - less
                        yield self.facts.bounds.visit(self.resimplify(expr.Add(e, less)))[0], UNBOUNDED
                        yield -UNBOUNDED, self.facts.bounds.visit(self.resimplify(expr.Sub(e, less)))[1]

    @contextmanager
    def _one_assumption(self) -> Iterator[None]:
        """Weigh assumed comparisons one at a time: each sum would ask for all of them again, and so on.

        What is simplified inside is not remembered outside, where more can be known.
        """
        memo, self._assuming = self.facts.memos[self.memo_name], True
        self.facts.memos[self.memo_name] = {}
        try:
            yield
        finally:
            self.facts.memos[self.memo_name], self._assuming = memo, False

    def _extreme(self, e: PrimExpr, end: int) -> PrimExpr:
        """Replace the variables of symbolic range by the end that makes ``e`` smallest (0) or largest (1).

        Those bound later come first: their ends are made of those bound before.
        """
        latest = math.inf
        while earlier := [found for found in self.facts.symbolic_variables(e) if found[0] < latest]:
            latest, var = max(earlier, key=lambda found: found[0])
            factor = _factor(e, var)
            if factor:
                ends = self.facts.symbolic[var]
                e = self.resimplify(substitute(e, {var: ends[end if factor > 0 else 1 - end]}))
        return e

    def assumed_truth(self, e: PrimExpr) -> PrimExpr | None:
        """Return true or false for a condition that was assumed, or whose negation was."""
        for truth in self.facts.truths:
            if deep_equal(truth, e):
                return const(True)
            if deep_equal(truth, negation(e)):
                return const(False)
        if Extension.TransitivelyProveInequalities in self.facts.extensions and isinstance(e, expr.CmpOp):
            return self._transitive_truth(e)
        return None

    def _transitive_truth(self, e: expr.CmpOp) -> PrimExpr | None:
        """Return true or false for a comparison that follows from all that is assumed, or whose opposite does."""
        context = possible_region(reduce(expr.And, self.facts.truths, const(True)))
        for var in free_vars(e):
            low, high = self.facts.bounds.visit(var)
            if dt.is_int(var.dtype) and low > -UNBOUNDED and high < UNBOUNDED:
                context = context & possible_region(
                    expr.And(expr.GE(var, const(low, var.dtype)), expr.LE(var, const(high, var.dtype)))
                )
        if certain_region(e).covers(context):
            return const(True)
        return const(False) if certain_region(expr.Not(e)).covers(context) else None


def negation(e: PrimExpr) -> PrimExpr:
    """Return the negation of a simplified condition, moved inwards."""
    if isinstance(e, IntImm):
        return IntImm(e.dtype, 1 - e.value)
    if isinstance(e, expr.Not):
        return e.a
    if isinstance(e, expr.Broadcast):
        return expr.Broadcast(negation(e.value), e.lanes)
    if isinstance(e, expr.And):
        return expr.Or(negation(e.a), negation(e.b))
    if isinstance(e, expr.Or):
        return expr.And(negation(e.a), negation(e.b))
    if isinstance(e, (expr.EQ, expr.NE)):
        return NEGATION[type(e)](e.a, e.b)
    if isinstance(e, (expr.LT, expr.LE, expr.GT, expr.GE)) and dt.is_integral(e.a.dtype):
        if isinstance(e, (expr.GE, expr.GT)):
            return NEGATION[type(e)](e.a, e.b)
        return (expr.LE if isinstance(e, expr.LT) else expr.LT)(e.b, e.a)
    return expr.Not(e)


def _factor(e: PrimExpr, var: Var) -> int | None:
    """Return the constant that a variable is multiplied by in a sum, None if it occurs in any other way."""
    if e is var:
        return 1
    if isinstance(e, (expr.Add, expr.Sub)):
        a, b = _factor(e.a, var), _factor(e.b, var)
        return None if a is None or b is None else a + (b if isinstance(e, expr.Add) else -b)
    if isinstance(e, expr.Mul) and isinstance(e.b, IntImm):
        a = _factor(e.a, var)
        return None if a is None else a * e.b.value
    return None if uses_var(e, var) else 0
