"""Orders the splits of a sum, and merges adjacent splits of one iterator."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.arith.analyzer import Analyzer
from compiler.arith.iterators.iter_map import IterSplitExpr
from compiler.ir.expr.primexpr import IntImm, Mul, PrimExpr


def combined(splits: Iterable[IterSplitExpr], analyzer: Analyzer) -> list[IterSplitExpr]:
    """Sort splits from the largest scale to the smallest, and merge those that are adjacent parts of one iterator.

    ``x // 4 * 4`` and ``x % 4`` are ``x``, as ``x // 4`` counts how often the extent of ``x % 4`` is exhausted.
    """
    left = sorted(splits, key=_scale_order)
    at = 0
    while at < len(left):
        below = next((i for i, other in enumerate(left) if _is_below(left[at], other, analyzer)), None)
        if below is None:
            at += 1
            continue
        lower, upper = left[below], left[at]
        extent = analyzer.simplify(lower.extent * upper.extent)
        left[at] = IterSplitExpr(lower.source, lower.lower_factor, extent, lower.scale)
        del left[below]
        at -= below < at
    return left


def _is_below(upper: IterSplitExpr, lower: IterSplitExpr, analyzer: Analyzer) -> bool:
    """Return whether ``upper`` is the part of an iterator just above ``lower``, in place value too."""
    if upper is lower or upper.source is not lower.source:
        return False
    equal = analyzer.can_prove_equal
    if not equal(upper.lower_factor, lower.lower_factor * lower.extent):
        return False
    return equal(upper.scale, lower.scale * lower.extent)


def _scale_order(split: IterSplitExpr) -> tuple[int, int]:
    """Return a key that sorts scales of more symbolic factors, then larger constants, first."""
    symbols, constant = 0, 1
    todo: list[PrimExpr] = [split.scale]
    while todo:
        e = todo.pop()
        if isinstance(e, Mul):
            todo += [e.a, e.b]
        elif isinstance(e, IntImm):
            constant *= e.value
        else:
            symbols += 1
    return -symbols, -constant
