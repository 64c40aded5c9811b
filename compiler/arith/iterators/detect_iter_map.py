"""``detect_iter_map``: recognises index maps that are affine in loop iterators, and what they cover."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.arith.analyzer import Analyzer
from compiler.arith.deep_equal import tokens
from compiler.arith.iterators.iter_map import (
    IterMapLevel,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    normalize_iter_map_to_expr,
)
from compiler.arith.iterators.iter_map_padding import NotAffine, PaddedMark
from compiler.arith.iterators.iter_map_parts import combined
from compiler.arith.iterators.iter_map_rewriter import IterMapRewriter
from compiler.ir.expr import primexpr as prim
from compiler.ir.expr.primexpr import PrimExpr, Var, binary, const, convert
from compiler.ir.functor import post_order

Level = IterMapLevel | bool | int | str


@dataclass
class IterMapResult(Sequence[IterSumExpr]):
    """What :func:`detect_iter_map` makes of indices; also the sequence of its ``indices``.

    They are empty if there is no map of the kind that was asked for.  ``padding_predicate`` says where iterators that
    are extended are outside of what they stand for; false without such.
    """

    indices: list[IterSumExpr] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    padding_predicate: PrimExpr = field(default_factory=lambda: const(False))

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        return self.indices[at]


@dataclass(frozen=True, slots=True)
class _Bound:
    """``lower <= expr < upper``."""

    expr: PrimExpr
    lower: PrimExpr | None
    upper: PrimExpr | None

    @property
    def size(self) -> int:
        return sum(1 for _ in post_order(self.expr))


def detect_iter_map(
    indices: Sequence[prim.ExprLike],
    input_iters: Mapping[Var, prim.Range],
    predicate: prim.ExprLike = True,
    check_level: Level = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> IterMapResult:
    """Read indices as sums of splits of iterators that do not depend on each other.

    Parameters
    ----------
    predicate : PrimExpr
        Comparisons, joined by ``And``, which the iterators fulfil.
    check_level : IterMapLevel, str or bool
        What is asked of the map; True is ``Bijective``, False ``Surjective``.
    simplify_trivial_iterators : bool
        Whether an iterator of one value is a constant.  Where it is not, and nothing is asked of the map, an iterator
        of less than a block of a division is padded to that block.

    Returns
    -------
    IterMapResult
        One sum for each index, of one split at most; empty if there is no such map.

    Examples
    --------
    ``[i * 4 + j // 2, j % 2]`` with ``i < 4`` and ``j < 8`` splits ``j`` in two parts of 4 and 2 values, of which the
    first one is fused with ``i`` to an iterator of 16 values.
    """
    analyzer = Analyzer.knowing(input_iters)
    level = _level(check_level)
    try:
        overlaps = level is not IterMapLevel.Bijective
        pads = level is IterMapLevel.NoCheck and not simplify_trivial_iterators
        rewriter = IterMapRewriter(analyzer, input_iters, simplify_trivial_iterators, overlaps, pads)
        _constrain(rewriter, convert(predicate))
        sums = _read(rewriter, [convert(index) for index in indices])
        fused = [rewriter.fuse(s) for s in sums]
        marks = _check(rewriter, fused, level, analyzer)
    except NotAffine as reason:
        return IterMapResult(errors=[str(reason)])
    return IterMapResult(fused, padding_predicate=_padding_predicate(rewriter, marks, analyzer))


def _read(rewriter: IterMapRewriter, indices: Sequence[PrimExpr]) -> list[IterSumExpr]:
    """Return the sums of indices, read again until they agree on the padding of iterators."""
    for _ in range(_READINGS):
        rewriter.padding.has_grown = False
        sums: list[IterSumExpr] = [rewriter.visit(index) for index in indices]
        if not rewriter.padding.has_grown:
            return sums
    raise NotAffine("the padding that its divisions need keeps growing")


_READINGS = 8


def _padding_predicate(rewriter: IterMapRewriter, marks: Collection[IterMark], analyzer: Analyzer) -> PrimExpr:
    parts = [padded.predicate(analyzer) for padded in rewriter.padding.marks if padded.mark in marks]
    result: PrimExpr = const(False)
    for part in parts:
        result = part if isinstance(result, prim.IntImm) else binary(prim.Or, result, part)
    return result


def _level(level: Level) -> IterMapLevel:
    if isinstance(level, bool):
        return IterMapLevel.Bijective if level else IterMapLevel.Surjective
    return IterMapLevel.from_str(level) if isinstance(level, str) else IterMapLevel(level)


# Predicates


def _constrain(rewriter: IterMapRewriter, predicate: PrimExpr) -> None:
    bounds = [_bound(rewriter, condition) for condition in conjuncts(predicate)]
    for bound in sorted(bounds, key=lambda b: b.size):
        rewriter.constrain(bound.expr, bound.lower, bound.upper)
    sets = [{_part(split) for split in c.splits} for c in rewriter.constraints]
    for i, mine in enumerate(sets):
        for other in sets[:i]:
            if mine & other and not (mine <= other or other <= mine):
                raise NotAffine("two predicates constrain overlapping sets of iterators")


def _part(split: IterSplitExpr) -> tuple[object, ...]:
    """Return which part of which iterator a split is, whatever its scale."""
    return id(split.source), *tokens(split.lower_factor), *tokens(split.extent)


def conjuncts(e: PrimExpr) -> Iterator[PrimExpr]:
    """Yield the conditions that ``And`` joins; what is always true is left out."""
    if isinstance(e, prim.And):
        yield from conjuncts(e.a)
        yield from conjuncts(e.b)
    elif isinstance(e, prim.Call) and getattr(e.op, "name", "") == "tir.likely":
        yield from conjuncts(e.args[0])
    elif not (isinstance(e, prim.IntImm) and e.value):
        yield e


def _bound(rewriter: IterMapRewriter, condition: PrimExpr) -> _Bound:
    if not isinstance(condition, (prim.LT, prim.LE, prim.GT, prim.GE, prim.EQ)):
        raise NotAffine(f"the predicate {condition} is not a comparison")
    left, right = condition.a, condition.b
    kind: type[PrimExpr] = type(condition)
    if rewriter.uses_iterators(right):
        if rewriter.uses_iterators(left):
            left, right = left - right, const(0, left.dtype)
        else:
            left, right, kind = right, left, _MIRROR[kind]
    if kind is prim.LT:
        return _Bound(left, None, right)
    if kind is prim.LE:
        return _Bound(left, None, right + 1)
    if kind is prim.GT:
        return _Bound(left, right + 1, None)
    return _Bound(left, right, None if kind is prim.GE else right + 1)


_MIRROR: dict[type[PrimExpr], type[PrimExpr]] = {
    prim.LT: prim.GT,
    prim.GT: prim.LT,
    prim.LE: prim.GE,
    prim.GE: prim.LE,
    prim.EQ: prim.EQ,
}


# Checks


def _input_marks(mark: IterMark) -> Iterator[IterMark]:
    """Yield the iterators that a mark is made of."""
    if isinstance(mark.source, IterSumExpr):
        for split in mark.source.args:
            yield from _input_marks(split.source)
    else:
        yield mark


def _parts_of(sums: Sequence[IterSumExpr]) -> dict[IterMark, list[IterSplitExpr]]:
    """Return the splits of all iterators that sums are made of."""
    parts: dict[IterMark, list[IterSplitExpr]] = {}
    todo = [split for s in sums for split in s.args]
    while todo:
        split = todo.pop()
        mark = split.source
        if mark not in parts and isinstance(mark.source, IterSumExpr):
            todo += mark.source.args
        parts.setdefault(mark, []).append(split)
    return parts


def _check(
    rewriter: IterMapRewriter, sums: Sequence[IterSumExpr], level: IterMapLevel, analyzer: Analyzer
) -> Collection[IterMark]:
    """Raise an error unless the splits of each mark cover it, none of its values twice; return the marks.

    Where nothing is asked of the map, values that only padding takes are no error either.
    """
    parts, is_bijective = _parts_of(sums), level is IterMapLevel.Bijective
    paddings = {padded.mark: padded for padded in rewriter.padding.marks}
    for mark, splits in parts.items():
        ordered = order_splits(mark, splits, is_bijective, analyzer)
        if mark in paddings and level is not IterMapLevel.NoCheck:
            _check_padding(paddings[mark], ordered, analyzer)
    for constraint in rewriter.constraints:
        if constraint.mark not in parts and any(mark in parts for mark in _input_marks(constraint.mark)):
            raise NotAffine("a predicate compares iterators that are not adjacent in the indices")
    missing = [mark for mark in rewriter.input_marks if mark not in parts]
    if is_bijective and missing:
        raise NotAffine(f"no index depends on {missing[0].source}")
    return parts.keys()


def _check_padding(padded: PaddedMark, ordered: Sequence[IterSplitExpr], analyzer: Analyzer) -> None:
    """Raise an error if splits that cover a mark do not take all their values; some of a padded one are not taken."""
    if not padded.is_reached(ordered, analyzer):
        raise NotAffine(f"the splits of {padded.mark.source} only take values from the padding")


def order_splits(
    mark: IterMark, splits: Sequence[IterSplitExpr], is_bijective: bool, analyzer: Analyzer
) -> list[IterSplitExpr]:
    """Return the splits of a mark from the innermost to the outermost."""
    left, ordered = list(splits), []
    expected: PrimExpr = const(1, mark.source.dtype)
    while left:
        at = _next_split(left, expected, is_bijective, analyzer)
        if at is None:
            raise NotAffine(f"the splits of {mark.source} overlap, or do not cover it")
        split = left.pop(at)
        ordered.append(split)
        expected = analyzer.simplify(split.lower_factor * split.extent)
    covered = analyzer.can_prove_equal(expected, mark.extent)
    if not covered and (is_bijective or not analyzer.can_prove((mark.extent % expected).equal(0))):
        raise NotAffine(f"the splits of {mark.source} cover {expected} of {mark.extent} values")
    return ordered


def _next_split(
    splits: Sequence[IterSplitExpr], expected: PrimExpr, is_bijective: bool, analyzer: Analyzer
) -> int | None:
    """Return which split begins at a factor, or above it where gaps are allowed."""
    for i, split in enumerate(splits):
        if analyzer.can_prove_equal(split.lower_factor, expected):
            return i
    for i, split in enumerate(splits):
        if not is_bijective and analyzer.can_prove((split.lower_factor % expected).equal(0)):
            return i
    return None


# Rewriting


def normalize_to_iter_sum(index: prim.ExprLike, input_iters: Mapping[Var, prim.Range]) -> IterSumExpr:
    """Read an index as a sum of as many splits as it needs, unfused, from the largest scale to the smallest.

    What is not affine is part of its ``base``.
    """
    analyzer = Analyzer.knowing(input_iters)
    (s,) = _read(_Normalizer(analyzer, input_iters, allows_overlaps=True), [convert(index)])
    return IterSumExpr(tuple(combined(s.args, analyzer)), s.base)


class _Normalizer(IterMapRewriter):
    """Keeps what is not affine as it is."""

    def visit_PrimExpr(self, n: PrimExpr) -> IterSumExpr:
        return IterSumExpr((), n)

    def visit_Mul(self, n: prim.Mul) -> IterSumExpr:
        return self._affine(super().visit_Mul, n)

    def visit_FloorDiv(self, n: prim.FloorDiv) -> IterSumExpr:
        return self._affine(super().visit_FloorDiv, n)

    def visit_FloorMod(self, n: prim.FloorMod) -> IterSumExpr:
        return self._affine(super().visit_FloorMod, n)

    def _padded(self, split: IterSplitExpr, shift: PrimExpr, factor: PrimExpr) -> tuple[IterSplitExpr, PrimExpr]:
        """Return the split itself, its extent rounded up, where it is divided from its first value on."""
        begins_inside = not (isinstance(shift, prim.IntImm) and shift.value == 0)
        if begins_inside or self._divides(factor, split.extent):
            return super()._padded(split, shift, factor)
        extent = self._simplify((split.extent + factor - 1) // factor * factor)
        return IterSplitExpr(split.source, split.lower_factor, extent), shift

    def _affine(self, rule: Callable[[Any], IterSumExpr], n: PrimExpr) -> IterSumExpr:
        """Return what a rule makes of the operands, if only their splits depend on iterators."""
        assert isinstance(n, (prim.Mul, prim.FloorDiv, prim.FloorMod))
        operands = [self.visit(n.a), self.visit(n.b)]
        if any(self.uses_iterators(operand.base) for operand in operands):
            return IterSumExpr((), n)
        try:
            return rule(n)
        except NotAffine:
            return IterSumExpr((), n)


def iter_map_simplify(
    indices: Sequence[prim.ExprLike],
    input_iters: Mapping[Var, prim.Range],
    predicate: prim.ExprLike = True,
    check_level: Level = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[PrimExpr]:
    """Simplify the indices of an affine map, with parameters as of :func:`detect_iter_map`; others stay."""
    detected = detect_iter_map(indices, input_iters, predicate, check_level, simplify_trivial_iterators)
    if not detected.indices and _level(check_level) is not IterMapLevel.Bijective:
        # what holds of all values of the iterators holds of those that the predicate leaves
        detected = detect_iter_map(indices, input_iters, True, check_level, simplify_trivial_iterators)
    if not detected.indices:
        return [convert(index) for index in indices]
    return [normalize_iter_map_to_expr(s) for s in detected.indices]
