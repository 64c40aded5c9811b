"""Rewrites index arithmetic to sums of splits, and fuses sums into iterators.

The value of an index is first a sum of splits.  Where it is divided, and at the end, the sum is *fused*: its splits
must lie side by side like the digits of a number, ``i * 12 + j * 3 + k`` with ``j < 4`` and ``k < 3``, and become one
iterator.  A predicate such as ``j * 3 + k < 10`` makes an iterator of fewer values out of the digits that it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.arith.analyzer import Analyzer
from compiler.arith.deep_equal import tokens
from compiler.arith.iterators.iter_map import IterMark, IterSplitExpr, IterSumExpr
from compiler.arith.iterators.iter_map_padding import NotAffine, Padding
from compiler.arith.iterators.iter_map_parts import combined
from compiler.arith.monomials import exact_quotient
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Var, binary, const, is_const_int
from compiler.ir.expr.substitute import uses_var
from compiler.ir.functor import Functor


@dataclass(frozen=True, slots=True)
class FusedIterator:
    """Splits that make up one iterator: ``value == mark + offset`` where ``value`` is the sum of the splits.

    ``splits`` stand from the outermost to the innermost, of which the scale is 1.
    """

    splits: tuple[IterSplitExpr, ...]
    mark: IterMark
    offset: PrimExpr


class IterMapRewriter(Functor):
    """Turns expressions into sums of splits.

    Parameters
    ----------
    allows_overlaps : bool
        Whether a sum may reach a value several times, as long as it leaves none out.
    pads_single_blocks : bool
        Whether an iterator that a division finds less than one block of is padded to a block, too.
    """

    def __init__(
        self,
        analyzer: Analyzer,
        input_iters: Mapping[Var, expr.Range],
        simplify_trivial_iterators: bool = True,
        allows_overlaps: bool = False,
        pads_single_blocks: bool = False,
    ) -> None:
        self._analyzer = analyzer
        self._allows_overlaps = allows_overlaps
        self._pads_single_blocks = pads_single_blocks
        self.padding = Padding(analyzer)
        self._values: dict[Var, IterSumExpr] = {}
        self.input_marks: list[IterMark] = []
        self.constraints: list[FusedIterator] = []
        self._marks: dict[tuple[object, ...], FusedIterator] = {}
        for var, domain in input_iters.items():
            extent = analyzer.simplify(domain.extent)
            is_trivial = analyzer.can_prove_equal(extent, 1)
            if simplify_trivial_iterators and is_trivial:
                self._values[var] = IterSumExpr((), domain.min)
            else:
                # The analyzer knows the value of an iterator that has only one: it would not be an iterator any more.
                source = var - domain.min if is_trivial else analyzer.simplify(var - domain.min)
                mark = IterMark(source, extent)
                self.input_marks.append(mark)
                self._values[var] = IterSumExpr((IterSplitExpr(mark),), domain.min)

    # Expressions

    def uses_iterators(self, e: PrimExpr) -> bool:
        """Return whether an expression depends on an iterator."""
        return uses_var(e, lambda v: v in self._values)

    def visit_Var(self, n: Var) -> IterSumExpr:
        value = self._values.get(n)
        return IterSumExpr((), n) if value is None else value

    def visit_IterSumExpr(self, n: IterSumExpr) -> IterSumExpr:
        return n

    def visit_IterSplitExpr(self, n: IterSplitExpr) -> IterSumExpr:
        return IterSumExpr((n,), const(0, n.dtype))

    def visit_PrimExpr(self, n: PrimExpr) -> IterSumExpr:
        if self.uses_iterators(n):
            raise NotAffine(f"{n} is not affine in the iterators")
        return IterSumExpr((), n)

    def visit_Add(self, n: expr.Add) -> IterSumExpr:
        return self._added(self.visit(n.a), self.visit(n.b), 1)

    def visit_Sub(self, n: expr.Sub) -> IterSumExpr:
        return self._added(self.visit(n.a), self.visit(n.b), -1)

    def visit_Mul(self, n: expr.Mul) -> IterSumExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        if a.args and b.args:
            raise NotAffine(f"{n} is a product of iterators")
        return self._scaled(a, b.base) if a.args else self._scaled(b, a.base)

    def visit_FloorDiv(self, n: expr.FloorDiv) -> IterSumExpr:
        dividend, divisor = self._division(n)
        if not dividend.args:
            return IterSumExpr((), self._simplify(dividend.base // divisor))
        return self._quotient(dividend, divisor)

    def visit_FloorMod(self, n: expr.FloorMod) -> IterSumExpr:
        dividend, divisor = self._division(n)
        if not dividend.args:
            return IterSumExpr((), self._simplify(dividend.base % divisor))
        return self._remainder(dividend, divisor)

    def _simplify(self, e: PrimExpr) -> PrimExpr:
        return self._analyzer.simplify(e)

    def _division(self, n: expr.FloorDiv | expr.FloorMod) -> tuple[IterSumExpr, PrimExpr]:
        if self.uses_iterators(n.b):
            raise NotAffine(f"the divisor of {n} depends on an iterator")
        return self.fuse(self.visit(n.a)), n.b

    def _added(self, a: IterSumExpr, b: IterSumExpr, sign: int) -> IterSumExpr:
        args = list(a.args)
        for term in b.args:
            scale = term.scale if sign > 0 else self._simplify(term.scale * -1)
            for i, mine in enumerate(args):
                if self._same_part(mine, term):
                    total = self._simplify(mine.scale + scale)
                    args[i : i + 1] = [] if is_const_int(total, 0) else [_with_scale(mine, total)]
                    break
            else:
                args.append(_with_scale(term, scale))
        return IterSumExpr(tuple(args), self._simplify(a.base + b.base if sign > 0 else a.base - b.base))

    def _scaled(self, s: IterSumExpr, factor: PrimExpr) -> IterSumExpr:
        if is_const_int(factor, 0):
            return IterSumExpr((), const(0, s.dtype))
        args = tuple(_with_scale(term, self._simplify(term.scale * factor)) for term in s.args)
        return IterSumExpr(args, self._simplify(s.base * factor))

    def _same_part(self, a: IterSplitExpr, b: IterSplitExpr) -> bool:
        equal = self._analyzer.can_prove_equal
        return a.source is b.source and equal(a.lower_factor, b.lower_factor) and equal(a.extent, b.extent)

    # Splitting

    def _quotient(self, s: IterSumExpr, divisor: PrimExpr) -> IterSumExpr:
        (split,), base = s.args, s.base
        if is_const_int(divisor, 1):
            return s
        if self._divides(divisor, split.scale):
            scale = self._ratio(split.scale, divisor)
            return IterSumExpr((_with_scale(split, scale),), self._simplify(base // divisor))
        inner, shift, quotient = self._unscaled(s, divisor)
        factor = self._ratio(divisor, split.scale)
        if self._stays_in_block(inner, shift, factor):
            return IterSumExpr((), quotient)
        inner, carry = self._padded(inner, shift, factor)
        lower, extent = self._simplify(inner.lower_factor * factor), self._ratio(inner.extent, factor)
        return IterSumExpr((IterSplitExpr(inner.source, lower, extent),), self._simplify(quotient + carry))

    def _remainder(self, s: IterSumExpr, divisor: PrimExpr) -> IterSumExpr:
        (split,), base = s.args, s.base
        if is_const_int(divisor, 1):
            return IterSumExpr((), const(0, s.dtype))
        if self._divides(divisor, split.scale):
            return IterSumExpr((), self._simplify(base % divisor))
        inner, shift, quotient = self._unscaled(s, divisor)
        factor = self._ratio(divisor, split.scale)
        rest = self._simplify(base - quotient * divisor)
        if not self._stays_in_block(inner, shift, factor):
            inner, _ = self._padded(inner, shift, factor)
            inner = IterSplitExpr(inner.source, inner.lower_factor, factor)
            rest = self._simplify(rest - shift * split.scale)
        return IterSumExpr((_with_scale(inner, split.scale),), rest)

    def _stays_in_block(self, split: IterSplitExpr, shift: PrimExpr, factor: PrimExpr) -> bool:
        """Return whether a division needs no more of a split than that it takes no value outside of one block."""
        if self._pads_single_blocks and not self._analyzer.can_prove_equal(split.extent, factor):
            return False
        return self._analyzer.can_prove(split.extent + shift <= factor)

    def _unscaled(self, s: IterSumExpr, divisor: PrimExpr) -> tuple[IterSplitExpr, PrimExpr, PrimExpr]:
        """Return the split of ``s`` with scale 1, and what the constant adds to it and to the quotient.

        What is left of the constant, less than the scale of the split, does not carry.
        """
        (split,), base = s.args, s.base
        if not (self._divides(split.scale, divisor) and self._analyzer.can_prove(split.scale > 0)):
            raise NotAffine(f"neither of {split.scale} and {divisor} divides the other")
        quotient = self._simplify(base // divisor)
        shift = self._simplify((base - quotient * divisor) // split.scale)
        return _with_scale(split, const(1, split.dtype)), shift, quotient

    def _padded(self, split: IterSplitExpr, shift: PrimExpr, factor: PrimExpr) -> tuple[IterSplitExpr, PrimExpr]:
        """Return ``split + shift`` as a split whose extent ``factor`` divides, and how often ``factor`` is added."""
        needs = not (is_const_int(shift, 0) and self._divides(factor, split.extent))
        return self.padding.pad(_key((split,)), split, shift, factor, needs)

    def _divides(self, divisor: PrimExpr, e: PrimExpr) -> bool:
        if isinstance(e, expr.IntImm) and isinstance(divisor, expr.IntImm):
            return divisor.value != 0 and e.value % divisor.value == 0
        return exact_quotient(e, divisor) is not None or self._analyzer.can_prove((e % divisor).equal(0))

    def _ratio(self, e: PrimExpr, divisor: PrimExpr) -> PrimExpr:
        """Return ``e // divisor``, where the division leaves nothing."""
        quotient = exact_quotient(e, divisor)
        return self._simplify(e // divisor if quotient is None else quotient)

    # Fusing

    def fuse(self, s: IterSumExpr) -> IterSumExpr:
        """Return a sum as a multiple of one iterator and a constant."""
        if not s.args:
            return s
        unit, digits, groups, extent = self._in_order(s)
        if len(groups) == 1:
            split, offset = groups[0]
            return IterSumExpr((_with_scale(split, unit),), self._simplify(s.base + offset * unit))
        fused = self._fused(digits, groups, extent)
        split = IterSplitExpr(fused.mark, scale=unit)
        return IterSumExpr((split,), self._simplify(s.base + fused.offset * unit))

    def _fused(
        self, digits: Sequence[IterSplitExpr], groups: Sequence[tuple[IterSplitExpr, PrimExpr]], extent: PrimExpr
    ) -> FusedIterator:
        key = _key(digits)
        fused = self._marks.get(key)
        if fused is None:
            dtype = digits[0].dtype
            offset: PrimExpr = const(0, dtype)
            for split, shift in groups:
                offset = offset + shift * split.scale
            source = IterSumExpr(tuple(split for split, _ in reversed(groups)), const(0, dtype))
            mark = IterMark(source, extent)
            fused = self._marks[key] = FusedIterator(tuple(digits), mark, self._simplify(offset))
        return fused

    def _in_order(
        self, s: IterSumExpr
    ) -> tuple[PrimExpr, list[IterSplitExpr], list[tuple[IterSplitExpr, PrimExpr]], PrimExpr]:
        """Sort the splits of a sum by place value.

        Returns
        -------
        unit : PrimExpr
            The scale of the innermost split.
        digits : list of IterSplitExpr
            All splits from the outermost to the innermost, with scales in units.
        groups : list of (IterSplitExpr, PrimExpr)
            Iterators from the innermost on, with scales in units; those under a predicate are one, with its offset.
        reach : PrimExpr
            How many values, in units, the iterators take together, which leave none out between them.
        """
        left = combined(s.args, self._analyzer)
        start = self._innermost(left)
        unit = left[start].scale
        digits: list[IterSplitExpr] = []
        groups: list[tuple[IterSplitExpr, PrimExpr]] = []
        reach: PrimExpr = const(1, s.dtype)
        while left:
            at, place = (start, reach) if not digits else self._next_place(left, reach, unit)
            taken, split, offset = self._group(left, at, place * unit)
            digits[:0] = [_with_scale(t, self._ratio(t.scale, unit)) for t in taken]
            groups.append((_with_scale(split, place), offset))
            left = [term for term in left if not any(term is t for t in taken)]
            reach = self._simplify(reach * split.extent if place is reach else reach + (split.extent - 1) * place)
        return unit, digits, groups, reach

    def _innermost(self, splits: Sequence[IterSplitExpr]) -> int:
        constants = [(split.scale.value, -i) for i, split in enumerate(splits) if isinstance(split.scale, expr.IntImm)]
        if not constants:
            if len(splits) == 1:
                return 0
            return self._dividing_all(splits)
        least, at = min(constants)
        if least <= 0 and len(splits) > 1:
            raise NotAffine(f"the scale {least} of a split is not positive")
        return -at

    def _dividing_all(self, splits: Sequence[IterSplitExpr]) -> int:
        for i, split in enumerate(splits):
            if all(self._divides(split.scale, other.scale) for other in splits):
                return i
        raise NotAffine("no scale divides all others")

    def _next_place(self, splits: Sequence[IterSplitExpr], reach: PrimExpr, unit: PrimExpr) -> tuple[int, PrimExpr]:
        """Return which split comes next, and its scale in units: one that begins where those below end, or within."""
        scale = reach * unit
        last_first = list(enumerate(splits))[::-1]
        for i, split in last_first:
            if self._analyzer.can_prove_equal(split.scale, scale):
                return i, reach
        for i, split in last_first:
            is_within = self._allows_overlaps and self._divides(unit, split.scale)
            if is_within and self._analyzer.can_prove(expr.And(split.scale > 0, split.scale <= scale)):
                return i, self._ratio(split.scale, unit)
        raise NotAffine(f"no split has the scale {self._simplify(scale)}")

    def _group(
        self, splits: list[IterSplitExpr], at: int, scale: PrimExpr
    ) -> tuple[list[IterSplitExpr], IterSplitExpr, PrimExpr]:
        """Return the splits of the longest predicate that ends with one, as an iterator; else the split alone."""
        for constraint in sorted(self.constraints, key=lambda c: -len(c.splits)):
            if self._same_part(constraint.splits[-1], splits[at]):
                taken = self._matched(constraint, splits, at, scale)
                if taken is not None:
                    return taken, IterSplitExpr(constraint.mark), constraint.offset
        return [splits[at]], splits[at], const(0, splits[at].dtype)

    def _matched(
        self, constraint: FusedIterator, splits: list[IterSplitExpr], at: int, scale: PrimExpr
    ) -> list[IterSplitExpr] | None:
        taken = [splits[at]]
        for part in constraint.splits[-2::-1]:
            for split in splits:
                is_new = not any(split is t for t in taken)
                if is_new and self._same_part(split, part):
                    if not self._analyzer.can_prove_equal(split.scale, part.scale * scale):
                        return None
                    taken.insert(0, split)
                    break
            else:
                return None
        return taken

    # Predicates

    def constrain(self, e: PrimExpr, lower: PrimExpr | None, upper: PrimExpr | None) -> None:
        """Let ``lower <= e < upper``, without iterators, hold, and with it what is fused from the same splits."""
        s = self.visit(e)
        if not s.args:
            self._check_possible(s.base, lower, upper)
            return
        unit, digits, groups, extent = self._in_order(s)
        if self._analyzer.can_prove(unit < 0):  # a split that runs backwards
            self.constrain(e * -1, None if upper is None else 1 - upper, None if lower is None else 1 - lower)
            return
        if len(groups) > 1:
            fused = self._fused(digits, groups, extent)
        else:
            fused = FusedIterator(tuple(digits), _own(groups[0]), groups[0][1])
        start = s.base + fused.offset * unit
        low, high = const(0, e.dtype), fused.mark.extent
        if lower is not None:
            low = binary(expr.Max, low, (lower - start + unit - 1) // unit)
        if upper is not None:
            high = binary(expr.Min, high, (upper - start + unit - 1) // unit)
        low, high = self._simplify(low), self._simplify(high)
        if is_const_int(low, 0) and self._analyzer.can_prove_equal(high, fused.mark.extent):
            return
        if self._analyzer.can_prove(high <= low):
            raise NotAffine(f"no value of {e} is within its bounds {lower} and {upper}")
        self._replace(fused, low, high)

    def _check_possible(self, value: PrimExpr, lower: PrimExpr | None, upper: PrimExpr | None) -> None:
        """Raise an error if a value that does not depend on iterators is known to be outside of bounds."""
        prove = self._analyzer.can_prove
        if (lower is not None and prove(value < lower)) or (upper is not None and prove(value >= upper)):
            raise NotAffine(f"{value} is outside of its bounds {lower} and {upper}")

    def _replace(self, fused: FusedIterator, low: PrimExpr, high: PrimExpr) -> None:
        """Let a fused iterator run from ``low`` up to, but without, ``high``."""
        source = fused.mark.source
        if isinstance(source, IterSumExpr):
            source = IterSumExpr(source.args, self._simplify(source.base - low))
        else:
            source = IterSumExpr((IterSplitExpr(fused.mark),), self._simplify(low * -1))
        mark = IterMark(source, self._simplify(high - low))
        narrowed = FusedIterator(fused.splits, mark, self._simplify(fused.offset + low))
        key = _key(fused.splits)
        self._marks[key] = narrowed
        self.constraints = [c for c in self.constraints if _key(c.splits) != key] + [narrowed]


def _own(group: tuple[IterSplitExpr, PrimExpr]) -> IterMark:
    """Return the iterator of one split: its own mark where it is all of that, else a mark of the part."""
    split = group[0]
    part = _with_scale(split, const(1, split.dtype))
    is_all = is_const_int(split.lower_factor, 1) and split.extent is split.source.extent
    return split.source if is_all else IterMark(IterSumExpr((part,), const(0, split.dtype)), split.extent)


def _with_scale(split: IterSplitExpr, scale: PrimExpr) -> IterSplitExpr:
    if scale is split.scale:
        return split
    return IterSplitExpr(split.source, split.lower_factor, split.extent, scale)


def _key(splits: Sequence[IterSplitExpr]) -> tuple[object, ...]:
    parts: list[object] = []
    for split in splits:
        parts += [split.source, *tokens(split.lower_factor), *tokens(split.extent), *tokens(split.scale)]
    return tuple(parts)
