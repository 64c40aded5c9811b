"""Simplification by a normal form: sums of scaled pieces ``(index % upper) // lower``, as :mod:`split_sum` has them.

Like terms meet however far apart they stand, and quotients and remainders of one index find back together.  What is no
index arithmetic is rewritten by the rules of the base class, over operands in normal form.
"""

from __future__ import annotations

from math import gcd

from compiler.arith.const_int_bound import is_index_type
from compiler.arith.deep_equal import deep_equal
from compiler.arith.rewrite_simplify import RewriteSimplifier
from compiler.arith.split_sum import NO_UPPER, Split, Sum
from compiler.ir.primexpr import LT, Add, BinaryOp, FloorDiv, FloorMod, IntImm, Mul, PrimExpr, Sub, const


class CanonicalSimplifier(RewriteSimplifier):
    """Brings index arithmetic into normal form."""

    memo_name = "canonical"

    def visit_Add(self, n: Add) -> PrimExpr:
        return self._normal(n)

    def visit_Sub(self, n: Sub) -> PrimExpr:
        return self._normal(n)

    def visit_Mul(self, n: Mul) -> PrimExpr:
        return self._normal(n)

    def visit_FloorDiv(self, n: FloorDiv) -> PrimExpr:
        return self._normal(n)

    def visit_FloorMod(self, n: FloorMod) -> PrimExpr:
        return self._normal(n)

    def _normal(self, n: BinaryOp) -> PrimExpr:
        if not is_index_type(n.dtype):
            return self.visit_BinaryOp(n)
        result = self._sum(n).expression(self.known.bounds)
        return n if deep_equal(result, n) else result

    def _sum(self, n: PrimExpr) -> Sum:
        """Return an expression of index type as a sum."""
        kind = type(n)
        if kind is IntImm:
            return Sum(n.dtype, [], n.value)  # type: ignore[attr-defined]
        if isinstance(n, Add):
            return self._sum(n.a).plus(self._sum(n.b))
        if isinstance(n, Sub):
            return self._sum(n.a).plus(self._sum(n.b), -1)
        if isinstance(n, Mul):
            return self._product(n)
        if isinstance(n, (FloorDiv, FloorMod)):
            return self._division(n)
        return self._atom(self.visit(n), n)

    def _atom(self, e: PrimExpr, original: PrimExpr) -> Sum:
        """Return a simplified expression as a sum, taken apart if simplification has made a sum of it."""
        if isinstance(e, IntImm):
            return Sum(e.dtype, [], e.value)
        if e is not original and isinstance(e, (Add, Sub, Mul, FloorDiv, FloorMod)):
            return self._sum(e)
        return Sum(e.dtype, [Split(e)])

    def _product(self, n: Mul) -> Sum:
        a, b = self._sum(n.a), self._sum(n.b)
        if not b.terms:
            return a.times(b.base)
        if not a.terms:
            return b.times(a.base)
        return self._opaque(n, a, b)

    def _opaque(self, n: BinaryOp, a: Sum, b: Sum) -> Sum:
        """Return an operation that the normal form does not know, on operands in normal form, after the rules."""
        left, right = a.expression(self.known.bounds), b.expression(self.known.bounds)
        same = deep_equal(left, n.a) and deep_equal(right, n.b)
        e = n if same else type(n)(left, right)
        rewritten = self.visit_BinaryOp(e)
        if isinstance(rewritten, (Add, Sub)) or (rewritten is not e and isinstance(rewritten, IntImm)):
            return self._sum(rewritten)
        return Sum(n.dtype, [Split(rewritten)])

    def _division(self, n: FloorDiv | FloorMod) -> Sum:
        dividend, divisor = self._sum(n.a), self._sum(n.b)
        if divisor.terms or divisor.base <= 0:
            return self._opaque(n, dividend, divisor)
        c = divisor.base
        return self._quotient(dividend, c) if isinstance(n, FloorDiv) else self._remainder(dividend, c)

    def _quotient(self, dividend: Sum, c: int) -> Sum:
        whole, rest = dividend.separate(c)
        result = whole.exactly_divided(c)
        low, high = rest.interval(self.known.bounds)
        if low // c == high // c:
            result.base += low // c
            return result
        piece = self._only_piece(rest)
        divided = None if piece is None else _divide(piece, c)
        if divided is None:
            divided = Split(rest.expression(self.known.bounds), 1, c)
        return result.plus(Sum(result.dtype, [divided]))

    def _remainder(self, dividend: Sum, c: int) -> Sum:
        _, rest = dividend.separate(c)
        low, high = rest.interval(self.known.bounds)
        if low // c == high // c:
            rest.base -= low // c * c
            return rest
        rest.base %= c
        piece = self._only_piece(rest)
        reduced = None if piece is None else _reduce(piece, c)
        if reduced is None:
            reduced = Split(rest.expression(self.known.bounds), 1, 1, c)
        return Sum(rest.dtype, [reduced])

    def _only_piece(self, s: Sum) -> Split | None:
        return s.terms[0] if len(s.terms) == 1 and s.base == 0 else None

    def visit_LT(self, n: LT) -> PrimExpr:
        result = super().visit_LT(n)
        if isinstance(result, LT) and is_index_type(result.a.dtype):
            reduced = self._reduced(result)
            return result if reduced is None else self._again(reduced)
        return result

    def _reduced(self, n: LT) -> PrimExpr | None:
        """Divide both sides by what all of their terms share, up to a rest that cannot matter."""
        difference = self._sum(n.a).plus(self._sum(n.b), -1)
        common = gcd(*[term.scale for term in difference.terms])
        for divisor in {common, *[abs(term.scale) for term in difference.terms]}:
            if divisor < 2:
                continue
            whole, rest = difference.separate(divisor)
            low, high = rest.interval(self.known.bounds)
            if whole.terms and low // divisor == high // divisor:
                smaller = whole.exactly_divided(divisor)
                smaller.base += low // divisor  # whole + rest < 0 just where whole / divisor + rest // divisor < 0
                return self._less_than_zero(smaller)
        return None

    def _less_than_zero(self, s: Sum) -> PrimExpr:
        """Return ``s < 0`` with the negative terms moved to the right."""
        left = Sum(s.dtype, [t for t in s.terms if t.scale > 0], max(s.base, 0))
        right = Sum(s.dtype, [t.scaled(-t.scale) for t in s.terms if t.scale < 0], max(-s.base, 0))
        if not left.terms and not right.terms:
            return const(s.base < 0)
        return LT(left.expression(self.known.bounds), right.expression(self.known.bounds))


def _divide(piece: Split, c: int) -> Split | None:
    """Return ``piece // c`` as one piece, or None."""
    scale = piece.scale
    if scale <= 0 or c % scale:
        return None
    lower = piece.lower * (c // scale)
    if piece.upper == NO_UPPER or piece.upper % lower == 0:
        return Split(piece.index, 1, lower, piece.upper)
    return None


def _reduce(piece: Split, c: int) -> Split | None:
    """Return ``piece % c`` as one piece, or None."""
    scale = piece.scale
    if scale <= 0 or c % scale:
        return None
    upper = piece.lower * (c // scale)
    if piece.upper == NO_UPPER or piece.upper % upper == 0:
        return Split(piece.index, scale, piece.lower, upper)
    return piece if upper % piece.upper == 0 else None
