"""``subspace_divide``: splits an affine map into an outer and an inner part."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from compiler.arith.analyzer import Analyzer
from compiler.arith.iterators.detect_iter_map import Level, detect_iter_map
from compiler.arith.iterators.iter_map import IterMapLevel, IterMark, IterSplitExpr, IterSumExpr, write_sum
from compiler.arith.iterators.iter_map_padding import NotAffine
from compiler.ir.expr.primexpr import And, ExprLike, IntImm, PrimExpr, Range, Var, binary, const, is_const_int
from compiler.ir.expr.substitute import uses_var


class _Divided(NamedTuple):
    """A mark, or a split, as ``outer * extent(inner) + inner``; None is a part of one value."""

    outer: IterMark | None
    inner: IterMark | None


class _DividedSplit(NamedTuple):
    outer: IterSplitExpr | None
    inner: IterSplitExpr | None


def subspace_divide(
    bindings: Sequence[ExprLike],
    input_iters: Mapping[Var, Range],
    sub_iters: Collection[Var],
    predicate: ExprLike = True,
    check_level: Level = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[list[IterMark]]:
    """Divide each index into ``outer * extent(inner) + inner``, where ``inner`` depends on ``sub_iters`` only.

    Other parameters are as of :func:`detect_iter_map`.  The result has the outer and the inner part of each index, then
    two marks whose extents are the predicates of the parts; it is empty if the map cannot be divided.
    """
    detected = detect_iter_map(bindings, input_iters, predicate, check_level, simplify_trivial_iterators)
    if not detected.indices:
        return []
    divider = _Divider(sub_iters)
    try:
        result = [divider.divide_index(s) for s in detected.indices]
    except NotAffine:
        return []
    empty = IterSumExpr((), const(0))
    result.append([IterMark(empty, divider.outer_predicate), IterMark(empty, divider.inner_predicate)])
    return result


class _Divider:
    def __init__(self, sub_iters: Collection[Var]) -> None:
        self._inner_variables = set(sub_iters)
        self._analyzer = Analyzer()
        self._marks: dict[IterMark, _Divided] = {}
        self.outer_predicate: PrimExpr = const(True)
        self.inner_predicate: PrimExpr = const(True)

    def divide_index(self, s: IterSumExpr) -> list[IterMark]:
        """Return the outer and the inner part of an index; the constant belongs to the inner one."""
        zero, one = const(0, s.dtype), const(1, s.dtype)
        if not s.args:
            return [IterMark(IterSumExpr((), zero), one), IterMark(s, one)]
        (split,) = s.args
        outer, inner = self._divide_split(split)
        if outer is not None and inner is not None and not is_const_int(split.scale, 1):
            raise NotAffine("the parts of a strided index overlap")
        if outer is not None and inner is not None:
            scale = self._simplify(outer.scale // inner.extent)
            outer = IterSplitExpr(outer.source, outer.lower_factor, outer.extent, scale)
        return [_part(outer, zero, one), _part(inner, s.base, one)]

    def _divide_split(self, split: IterSplitExpr) -> _DividedSplit:
        outer, inner = self._divide_mark(split.source)
        if outer is None or inner is None:
            own = outer or inner
            assert own is not None
            part = IterSplitExpr(own, split.lower_factor, split.extent, split.scale)
            return _DividedSplit(None, part) if outer is None else _DividedSplit(part, None)
        lower, upper = split.lower_factor, self._simplify(split.lower_factor * split.extent)
        if self._analyzer.can_prove(upper <= inner.extent):
            return _DividedSplit(None, IterSplitExpr(inner, lower, split.extent, split.scale))
        if self._divides(inner.extent, lower):
            factor = self._simplify(lower // inner.extent)
            return _DividedSplit(IterSplitExpr(outer, factor, split.extent, split.scale), None)
        if not (self._divides(lower, inner.extent) and self._divides(inner.extent, upper)):
            raise NotAffine("a split has iterations of both parts")
        below = self._simplify(inner.extent // lower)
        above = self._simplify(upper // inner.extent)
        return _DividedSplit(
            IterSplitExpr(outer, const(1, above.dtype), above, self._simplify(split.scale * below)),
            IterSplitExpr(inner, lower, below, split.scale),
        )

    def _divide_mark(self, mark: IterMark) -> _Divided:
        divided = self._marks.get(mark)
        if divided is None:
            divided = self._marks[mark] = self._divide_new_mark(mark)
        return divided

    def _divide_new_mark(self, mark: IterMark) -> _Divided:
        source = mark.source
        if not isinstance(source, IterSumExpr):
            is_inner = uses_var(source, lambda v: v in self._inner_variables)
            return _Divided(None, mark) if is_inner else _Divided(mark, None)
        parts = [self._divide_split(split) for split in source.args]
        inner = [part.inner for part in parts if part.inner is not None]
        outer = [part.outer for part in parts if part.outer is not None]
        if not outer:
            source = IterSumExpr(tuple(inner), source.base)
            self.inner_predicate = self._and(self.inner_predicate, mark, source)
            return _Divided(None, IterMark(source, mark.extent))
        if not inner:
            source = IterSumExpr(tuple(outer), source.base)
            self.outer_predicate = self._and(self.outer_predicate, mark, source)
            return _Divided(IterMark(source, mark.extent), None)
        if self._is_constrained(mark, source):
            raise NotAffine("a predicate involves iterations of both parts")
        return self._assembled(parts, source)

    def _assembled(self, parts: Sequence[_DividedSplit], source: IterSumExpr) -> _Divided:
        """Put the parts of fused splits, from the outermost to the innermost, together as two marks."""
        outer: list[IterSplitExpr] = []
        inner: list[IterSplitExpr] = []
        for part in parts:
            if part.outer is not None:
                if inner:
                    raise NotAffine("an iterator of the outer part lies within the inner one")
                outer.append(part.outer)
            if part.inner is not None:
                inner.append(part.inner)
        extent = self._product(inner)
        scaled = [IterSplitExpr(s.source, s.lower_factor, s.extent, self._simplify(s.scale // extent)) for s in outer]
        zero = const(0, source.dtype)
        return _Divided(
            IterMark(IterSumExpr(tuple(scaled), zero), self._product(outer)),
            IterMark(IterSumExpr(tuple(inner), source.base), extent),
        )

    def _product(self, splits: Sequence[IterSplitExpr]) -> PrimExpr:
        extent: PrimExpr = splits[0].extent
        for split in splits[1:]:
            extent = extent * split.extent
        return self._simplify(extent)

    def _is_constrained(self, mark: IterMark, source: IterSumExpr) -> bool:
        return not self._analyzer.can_prove_equal(self._product(source.args), mark.extent)

    def _and(self, predicate: PrimExpr, mark: IterMark, source: IterSumExpr) -> PrimExpr:
        """Add to a predicate what a mark of fewer iterations than its source has says about the source."""
        last: PrimExpr = source.base
        for split in source.args:
            last = last + (split.extent - 1) * split.scale
        if self._analyzer.can_prove(binary(And, source.base >= 0, last < mark.extent)):
            return predicate
        value = write_sum(source.args, source.base, self._analyzer)
        if not (isinstance(source.base, IntImm) and source.base.value == 0):
            predicate = binary(And, predicate, value >= 0)
        return binary(And, predicate, value < mark.extent)

    def _simplify(self, e: PrimExpr) -> PrimExpr:
        return self._analyzer.simplify(e)

    def _divides(self, divisor: PrimExpr, e: PrimExpr) -> bool:
        return self._analyzer.can_prove((e % divisor).equal(0))


def _part(split: IterSplitExpr | None, base: PrimExpr, one: PrimExpr) -> IterMark:
    """Return one part of an index as an iterator, of one value where there is no split."""
    return (
        IterMark(IterSumExpr((), base), one) if split is None else IterMark(IterSumExpr((split,), base), split.extent)
    )
