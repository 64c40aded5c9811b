"""Bounds of buffer regions over the domains of their variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.arith.analyzer import Analyzer
from compiler.arith.int_set import IntervalSet, IntSet
from compiler.arith.interval_arithmetic import eval_set
from compiler.arith.iterators.detect_iter_map import detect_iter_map
from compiler.arith.iterators.iter_map import IterMapLevel, IterSumExpr
from compiler.ir.expr.primexpr import ExprLike, IntImm, PrimExpr, Range, Var

Region = Sequence[Range]
Domains = Mapping[Var, Range]


def estimate_region_strict_bound(
    region: Region, var_dom: Domains, predicate: ExprLike = True
) -> list[IntervalSet] | None:
    """Return the sets, one a dimension, that a region of constant extents covers exactly; None if there are no such."""
    if not all(isinstance(r.extent, IntImm) for r in region):
        return None
    detected = detect_iter_map([r.min for r in region], var_dom, predicate, IterMapLevel.Surjective)
    if not detected.indices:
        return None
    analyzer = Analyzer()
    sets = [_covered(s, r.extent, analyzer) for s, r in zip(detected.indices, region, strict=True)]
    return None if any(s is None for s in sets) else [s for s in sets if s is not None]


def _covered(low: IterSumExpr, extent: PrimExpr, analyzer: Analyzer) -> IntervalSet | None:
    """Return what ranges of ``extent`` cover that begin at each value of ``low``; None if that leaves gaps."""
    if not low.args:
        return IntSet.from_min_extent(low.base, extent)
    (split,) = low.args
    first, step = low.base, split.scale
    if analyzer.can_prove(step < 0):
        first, step = analyzer.simplify(first + (split.extent - 1) * step), analyzer.simplify(-step)
    if not analyzer.can_prove(extent >= step):
        return None
    return IntSet.from_min_extent(first, analyzer.simplify((split.extent - 1) * step + extent))


def estimate_region_lower_bound(
    region: Region, var_dom: Domains, predicate: ExprLike = True
) -> list[IntervalSet] | None:
    """Return sets, one a dimension, all of whose members a region of constant extents covers; None if none is known."""
    return estimate_region_strict_bound(region, var_dom, predicate)


def estimate_region_upper_bound(region: Region, var_dom: Domains, predicate: ExprLike = True) -> list[IntervalSet]:
    """Return sets, one for each dimension, that hold all that the region covers."""
    strict = estimate_region_strict_bound(region, var_dom, predicate)
    if strict is not None:
        return strict
    return [_upper_bound(r, var_dom, predicate) for r in region]


def _upper_bound(r: Range, var_dom: Domains, predicate: ExprLike) -> IntervalSet:
    strict = estimate_region_strict_bound([r], var_dom, predicate)
    return eval_set(r, var_dom) if strict is None else strict[0]
