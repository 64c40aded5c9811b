"""Simplification by a normal form: sums of scaled pieces ``(index % upper) // lower``, as :mod:`split_sum` has them.

Like terms meet however far apart they stand, and quotients and remainders of one index find back together.  What is no
index arithmetic is rewritten by the rules of the base class, over operands in normal form.
"""

from __future__ import annotations

from math import gcd
from typing import Any

from compiler.arith.const_int_bound import Interval, is_index_type
from compiler.arith.deep_equal import deep_equal
from compiler.arith.iterators.split_sum import NO_UPPER, Split, Sum, multiples
from compiler.arith.overflow import is_loaded
from compiler.arith.rewrite_simplify import RewriteSimplifier
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import Add, BinaryOp, IntImm, Mul, PrimExpr, Sub, Var, cast, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.origin import NO_SPAN, Span

_DIVISIONS = (expr.FloorDiv, expr.FloorMod, expr.Div, expr.Mod)


def is_plain(e: PrimExpr) -> bool:
    """Return whether the normal form says all about ``e``, so that the rules for sums and quotients add nothing."""
    todo: list[Any] = [e]
    while todo:
        part = todo.pop()
        kind = type(part)
        if kind is IntImm or isinstance(part, Var):
            continue
        if isinstance(part, BinaryOp):
            if kind is not Add and not _is_plain_operation(part):
                return False
            todo += (part.a, part.b)
        elif isinstance(part, tuple):
            todo.extend(part)
        else:
            todo.extend([child for name in part.children if (child := getattr(part, name)) is not None])
    return True


def _is_plain_operation(e: BinaryOp) -> bool:
    """Return whether the normal form knows an operation, whatever its operands are."""
    kind = type(e)
    if kind in (expr.FloorDiv, expr.FloorMod):
        return isinstance(e.b, IntImm) and not isinstance(e.a, (Add, Sub, Mul))
    if kind in (expr.Div, expr.Mod, expr.Min, expr.Max):
        return not dt.is_integral(e.dtype)
    if kind is not Mul or not dt.is_integral(e.dtype):
        return True
    return isinstance(e.b, IntImm) and not _is_rounded(e.a, e.b.value)


def _is_rounded(e: PrimExpr, factor: int) -> bool:
    """Return whether ``e * factor`` is a number rounded down to a multiple; rules know how far it lies below that."""
    return type(e) is expr.FloorDiv and isinstance(e.b, IntImm) and e.b.value != 0 and factor % e.b.value == 0


class CanonicalSimplifier(RewriteSimplifier):
    """Brings index arithmetic into normal form."""

    memo_name = "canonical"

    def visit_Reduce(self, n: expr.Reduce) -> PrimExpr:
        result = RewriteSimplifier.visit_Reduce(self, n)
        return result if n.axis or not isinstance(result, expr.Reduce) else _single_iteration(result)

    def _normal(self, n: BinaryOp) -> PrimExpr:
        if not is_index_type(n.dtype):
            return self.visit_BinaryOp(n)
        if self._is_normal(n):
            return n
        try:
            result = self._sum(n).expression(self.facts.bounds)
        except ArgumentError:  # a constant of the normal form does not fit the type
            return self.visit_BinaryOp(n)
        if type(n) is Mul and type(result) is Sub and type(result.a) is IntImm and result.a.value == 0:
            result = Mul(result.b, IntImm(n.dtype, -1))  # a negative stays the product that it is written as
        return n if deep_equal(result, n) else result

    visit_Add = visit_Sub = visit_Mul = visit_FloorDiv = visit_FloorMod = visit_Div = visit_Mod = _normal

    def _is_normal(self, n: PrimExpr) -> bool:
        """Return whether ``n`` is what :meth:`Sum.expression` writes of multiples of variables, as most indices are."""
        if isinstance(n, Add) and isinstance(n.b, IntImm) and n.b.value > 0:
            n = n.a
        seen: set[PrimExpr] = set()
        least = 1
        for term, scale in multiples(n):
            if not isinstance(term, Var) or term in self.facts.values or term in seen or scale < least:
                return False
            seen.add(term)
            least = scale
        return True

    def _sum(self, n: PrimExpr) -> Sum:
        """Return an expression of index type as a sum."""
        result = Sum(n.dtype, [])
        self._collect(n, 1, result, NO_SPAN)
        if not any(term.is_index and isinstance(term.index, (Add, Sub)) for term in result.terms):
            return result
        spread = Sum(n.dtype, [], result.base)
        for term in result.terms:
            if term.is_index:  # a quotient and its remainder have become their dividend
                self._collect(term.index, term.scale, spread, term.span)
            else:
                spread.add_term(term)
        return spread

    def _collect(self, n: PrimExpr, factor: int, into: Sum, span: Span) -> None:
        """Add ``n * factor`` to a sum, term by term; ``span`` is where what surrounds ``n`` comes from."""
        todo: list[tuple[PrimExpr, int, Span]] = []
        while True:
            if n.span:
                span |= n.span
            if isinstance(n, BinaryOp):
                if isinstance(n, Add):
                    todo.append((n.b, factor, span))
                    n = n.a
                    continue
                if isinstance(n, Sub):
                    todo.append((n.b, -factor, span))
                    n = n.a
                    continue
                if isinstance(n, Mul) and isinstance(scale := n.b, IntImm) and scale.value:
                    n, factor = n.a, factor * scale.value
                    continue
                self._collect_operation(n, factor, into, span)
            elif isinstance(n, IntImm):
                into.base += n.value * factor
            elif isinstance(n, expr.Cast) and is_index_type(n.value.dtype):
                self._collect_cast(n, factor, into, span)
            else:
                self._collect_piece(n, factor, into, span)
            if not todo:
                return
            n, factor, span = todo.pop()

    def _collect_cast(self, n: expr.Cast, factor: int, into: Sum, span: Span) -> None:
        """Add ``n * factor`` to a sum, term by term where each term fits the type."""
        value = self._sum(n.value)
        if n.dtype == "int32" and not self._fits(value, n.dtype):
            self._collect_piece(n, factor, into, span)
            return
        into.base += value.base * factor
        for term in value.terms:
            index = cast(n.dtype, term.index)
            part = Split(index, term.scale * factor, term.lower, term.upper, term.span | span, term.truncates)
            into.add_term(part)

    def _fits(self, value: Sum, dtype: str) -> bool:
        bounds = self.facts.bounds
        least, most = dt.int_range(dtype)
        intervals = [value.interval(bounds), (value.base, value.base)]
        for term in value.terms:
            intervals += (term.interval(bounds), bounds.visit(term.index))
        return all(least <= low and high <= most for low, high in intervals)

    def _collect_operation(self, n: BinaryOp, factor: int, into: Sum, span: Span) -> None:
        """Add ``n * factor`` to a sum, where ``n`` is neither a sum nor a multiple of something."""
        if isinstance(n, Mul):
            self._collect_product(n, factor, into, span)
        elif isinstance(n, _DIVISIONS):
            self._collect_division(n, factor, into, span)
        else:
            self._collect_piece(n, factor, into, span)

    def _collect_piece(self, n: PrimExpr, factor: int, into: Sum, span: Span) -> None:
        """Add ``n * factor`` to a sum, where the normal form does not know what ``n`` computes."""
        e = self.visit(n)
        if e is not n and isinstance(e, (IntImm, Add, Sub, Mul, *_DIVISIONS)):
            self._collect(e, factor, into, span)
        else:
            into.add_term(Split(e, factor, 1, NO_UPPER, span))

    def _collect_product(self, n: Mul, factor: int, into: Sum, span: Span) -> None:
        if isinstance(n.b, IntImm):  # zero: other multiples are not terms
            return
        a, b = self._sum(n.a), self._sum(n.b)
        if not b.terms:
            into.add(a, factor * b.base, span)
        elif not a.terms:
            into.add(b, factor * a.base, span)
        else:
            self._collect_opaque(n, a, b, factor, into, span)

    def _collect_opaque(self, n: BinaryOp, a: Sum, b: Sum, factor: int, into: Sum, span: Span) -> None:
        """Add an operation that the normal form does not know, on operands in normal form, after the rules."""
        left, right = a.expression(self.facts.bounds), b.expression(self.facts.bounds)
        same = deep_equal(left, n.a) and deep_equal(right, n.b)
        e = n if same else type(n)(left, right)
        rewritten = self.visit_BinaryOp(e)
        multiple = isinstance(rewritten, (Mul, *_DIVISIONS)) and isinstance(rewritten.b, IntImm)
        if isinstance(rewritten, (Add, Sub, IntImm)) or (multiple and rewritten is not e):
            self._collect(rewritten, factor, into, span)
        else:
            into.add_term(Split(rewritten, factor, 1, NO_UPPER, span))

    def _collect_division(self, n: BinaryOp, factor: int, into: Sum, span: Span) -> None:
        dividend, divisor = self._sum(n.a), self._sum(n.b)
        if divisor.terms or divisor.base <= 0 or self._may_overflow(dividend, n.a, divisor.base):
            self._collect_opaque(n, dividend, divisor, factor, into, span)
            return
        truncates = isinstance(n, (expr.Div, expr.Mod))
        if truncates and dividend.interval(self.facts.bounds)[0] < 0:
            if isinstance(n, expr.Mod) and dividend.base < 0 and self._is_not_negative(dividend, n.a):
                dividend.base = -(-dividend.base % divisor.base)  # more than before, so that it stays positive
            divide = self._truncated_quotient if isinstance(n, expr.Div) else self._truncated_remainder
            into.add(divide(dividend, divisor.base), factor, span)
        elif isinstance(n, (expr.Div, expr.FloorDiv)):
            into.add(self._quotient(dividend, divisor.base, truncates), factor, span)
        else:
            into.add(self._remainder(dividend, divisor.base, truncates), factor, span)

    def _may_overflow(self, dividend: Sum, written: PrimExpr, divisor: int) -> bool:
        """Return whether a part of a dividend may overflow where the whole, which is ``written`` so, does not."""
        least, most = dt.int_range(dividend.dtype)
        low, high = min(dividend.base, 0), max(dividend.base, divisor - 1) if dividend.base else 0
        for term in dividend.terms:
            a, b = self._executed_interval(term)
            low, high = low + min(a, 0), high + max(b, 0)
        return (low < least or high > most) and is_loaded(written, self.facts.loaded)

    def _executed_interval(self, term: Split) -> Interval:
        """Return the interval of a term, of whose index the machine has a value that fits the type."""
        if not term.is_index:
            return term.interval(self.facts.bounds)
        (low, high), (least, most) = self.facts.bounds.visit(term.index), dt.int_range(term.index.dtype)
        ends = max(low, least) * term.scale, min(high, most) * term.scale
        return min(ends), max(ends)

    def _is_not_negative(self, s: Sum, e: PrimExpr) -> bool:
        """Return whether a sum, of which ``e`` is another form, is at least zero."""
        bounds = self.facts.bounds
        if bounds.visit(e)[0] >= 0:
            return True
        return bounds.visit(Sum(s.dtype, s.terms).expression(bounds))[0] + s.base >= 0

    def _truncated_quotient(self, dividend: Sum, c: int) -> Sum:
        """Return the quotient rounded towards zero of a dividend that may be negative."""
        whole, rest = dividend.separate(c)
        if not rest.terms and not rest.base:
            return whole.exactly_divided(c)
        low, high = dividend.interval(self.facts.bounds)
        if -c < low and high < c:
            return Sum(dividend.dtype, [])
        piece = self._only_piece(dividend)
        divided = None if piece is None else self._divide(piece, c, True)
        written = Split(dividend.expression(self.facts.bounds), 1, c, truncates=True)
        return Sum(dividend.dtype, [divided or written])

    def _truncated_remainder(self, dividend: Sum, c: int) -> Sum:
        """Return the remainder, with the sign of the dividend, of one that may be negative."""
        _, rest = dividend.separate(c)
        if not rest.terms and not rest.base:
            return Sum(dividend.dtype, [])
        low, high = dividend.interval(self.facts.bounds)
        if -c < low and high < c:
            return dividend
        piece = self._only_piece(dividend)
        reduced = None if piece is None else self._reduce(piece, c, True)
        written = Split(dividend.expression(self.facts.bounds), 1, 1, c, truncates=True)
        return Sum(dividend.dtype, [reduced or written])

    def _quotient(self, dividend: Sum, c: int, truncates: bool = False) -> Sum:
        """Return the quotient rounded down, written as truncated where that is the same and asked for."""
        whole, rest = dividend.separate(c)
        result = whole.exactly_divided(c)
        low, high = rest.interval(self.facts.bounds)
        if low // c == high // c:
            result.base += low // c
            return result
        small = self._below(rest, c)
        if small is not None:
            result.add(small)
            return result
        shared = self._shared_factor(rest, c)
        if shared > 1:
            coarse, _ = rest.separate(shared)
            result.add(self._quotient(coarse.exactly_divided(shared), c // shared, truncates))
            return result
        truncates = truncates and low >= 0
        piece = self._only_piece(rest)
        divided = None if piece is None else self._divide(piece, c, truncates)
        result.add_term(divided or Split(rest.expression(self.facts.bounds), 1, c, truncates=truncates))
        return result

    def _remainder(self, dividend: Sum, c: int, truncates: bool = False) -> Sum:
        """Return the remainder that is not negative, written as truncated where that is the same and asked for."""
        _, rest = dividend.separate(c)
        low, high = rest.interval(self.facts.bounds)
        if low // c == high // c:
            rest.base -= low // c * c
            return rest
        rest.base %= c
        shared = self._shared_factor(rest, c)
        if shared > 1:
            coarse, fine = rest.separate(shared)
            fine.add(self._remainder(coarse.exactly_divided(shared), c // shared, truncates), shared)
            return fine
        truncates = truncates and rest.interval(self.facts.bounds)[0] >= 0
        piece = self._only_piece(rest)
        reduced = None if piece is None else self._reduce(piece, c, truncates)
        written = Split(rest.expression(self.facts.bounds), 1, 1, c, truncates=truncates)
        return Sum(rest.dtype, [reduced or written])

    def _divide(self, piece: Split, c: int, truncates: bool) -> Split | None:
        """Return ``piece // c`` as one piece, or None."""
        scale = piece.scale
        if scale <= 0 or c % scale or not self._rounds(piece, truncates):
            return None
        lower = piece.lower * (c // scale)
        mode = truncates if piece.is_index else piece.truncates
        if piece.upper == NO_UPPER or piece.upper % lower == 0:
            return Split(piece.index, 1, lower, piece.upper, piece.span, mode)
        reduced = Split(piece.index, 1, 1, piece.upper, piece.span, mode).expression(self.facts.bounds)
        return Split(reduced, 1, lower, NO_UPPER, piece.span, mode)

    def _reduce(self, piece: Split, c: int, truncates: bool) -> Split | None:
        """Return ``piece % c`` as one piece, or None."""
        scale = piece.scale
        if scale <= 0 or c % scale or not self._rounds(piece, truncates):
            return None
        upper = piece.lower * (c // scale)
        if piece.upper == NO_UPPER or piece.upper % upper == 0:
            mode = truncates if piece.is_index else piece.truncates
            index = piece.index
            if not mode and piece.upper != NO_UPPER and isinstance(index, (Add, Sub)):
                index = self._coarser(index, upper)
            return Split(index, scale, piece.lower, upper, piece.span, mode)
        return piece if upper % piece.upper == 0 else None

    def _coarser(self, index: PrimExpr, upper: int) -> PrimExpr:
        """Return an index with the same remainder by ``upper``, and multiples of that left out."""
        _, rest = self._sum(index).separate(upper)
        rest.base %= upper
        return rest.expression(self.facts.bounds)

    def _rounds(self, piece: Split, truncates: bool) -> bool:
        """Return whether dividing a piece with this rounding is dividing its index further."""
        return piece.is_index or piece.truncates == truncates or piece.interval(self.facts.bounds)[0] >= 0

    def _below(self, s: Sum, c: int) -> Sum | None:
        """Return ``s // c`` if what is left of the scales modulo ``c`` cannot reach ``c``."""
        left = Sum(s.dtype, [t.scaled(t.scale % c) for t in s.terms], s.base % c)
        low, high = left.interval(self.facts.bounds)
        if low // c != high // c:
            return None
        return Sum(s.dtype, [t.scaled(t.scale // c) for t in s.terms if t.scale // c], s.base // c + low // c)

    def _shared_factor(self, s: Sum, c: int) -> int:
        """Return a factor ``f`` of ``c`` such that what it does not divide in the sum lies in ``0 <= rest < f``."""
        for f in sorted({gcd(term.scale, c) for term in s.terms}, reverse=True):
            if 1 < f < c:
                coarse, fine = s.separate(f)
                low, high = fine.interval(self.facts.bounds)
                if coarse.terms and fine.terms and low >= 0 and high < f:
                    return f
        return 1

    def _only_piece(self, s: Sum) -> Split | None:
        return s.terms[0] if len(s.terms) == 1 and s.base == 0 else None

    def visit_LT(self, n: expr.LT) -> PrimExpr:
        result = super().visit_LT(n)
        if not isinstance(result, expr.LT) or not is_index_type(result.a.dtype):
            return result
        try:
            smaller = self._shorter(result)
        except ArgumentError:  # a constant does not fit the type
            return result
        if smaller is None or deep_equal(smaller, result) or not self.stays_in_range(result, smaller):
            return result
        return self.resimplify(smaller)

    def _shorter(self, n: expr.LT) -> PrimExpr | None:
        left, right = self._sum(n.a), self._sum(n.b)
        smaller = self._reduced(left, right)
        return self._moved(left, right) if smaller is None else smaller

    def _reduced(self, left: Sum, right: Sum) -> PrimExpr | None:
        """Divide both sides by what all of their terms share, up to a rest that cannot matter."""
        difference = Sum(left.dtype, list(left.terms), left.base)
        difference.add(right, -1)
        common = gcd(*[term.scale for term in difference.terms])
        for divisor in sorted({common, *[abs(term.scale) for term in difference.terms]} - {0, 1}):
            whole, rest = difference.separate(divisor)
            low, high = rest.interval(self.facts.bounds)
            if whole.terms and low // divisor == high // divisor:
                smaller = whole.exactly_divided(divisor)
                smaller.base += low // divisor  # whole + rest < 0 just where whole / divisor + rest // divisor < 0
                return self._less_than_zero(smaller)
        return None

    def _moved(self, left: Sum, right: Sum) -> PrimExpr | None:
        """Bring the constants together, where they are positive, and what only one side subtracts to the other."""
        negative = [side for side in (left, right) if side.terms and all(term.scale < 0 for term in side.terms)]
        if not negative and not left.base and right.base >= 0:
            return None
        constant = right.base - left.base
        left, right = Sum(left.dtype, left.terms), Sum(right.dtype, right.terms)
        if len(negative) == 1:
            source, target = (left, right) if negative[0].terms is left.terms else (right, left)
            target.terms = list(target.terms)
            target.add(source, -1)
            source.terms = []
        if not left.terms or (constant < 0 and right.terms):
            left.base = -constant
        else:
            right.base = constant
        kind = expr.LE if constant == 1 and left.terms and right.terms else expr.LT
        if kind is expr.LE:
            right.base = 0
        return kind(left.expression(self.facts.bounds), right.expression(self.facts.bounds))

    def _less_than_zero(self, s: Sum) -> PrimExpr:
        """Return ``s < 0`` with the constant on the right, and without one with all that is negative there."""
        if not s.terms:
            return const(s.base < 0)
        left, right = Sum(s.dtype, s.terms), Sum(s.dtype, [], -s.base)
        if s.base == 0:
            left.terms = [t for t in s.terms if t.scale > 0]
            right.terms = [t.scaled(-t.scale) for t in s.terms if t.scale < 0]
        return expr.LT(left.expression(self.facts.bounds), right.expression(self.facts.bounds))


def _single_iteration(n: expr.Reduce) -> PrimExpr:
    """Return the value of a reduction over no axes, which combines one value where its condition holds.  ::

    sum(A[3], axis=[], where=x > 2, init=1)      →       select(x > 2, 1 + A[3], 1)
    """
    combiner, output = n.combiner, n.value_index
    start = (n.init or combiner.identity_element)[output]
    value = n.source[output]
    if n.init:
        operands = (*combiner.lhs, *combiner.rhs)
        value = substitute(combiner.result[output], dict(zip(operands, (*n.init, *n.source), strict=True)))
    if isinstance(n.condition, IntImm):
        return value if n.condition.value else start
    return expr.Select(n.condition, value, start)
