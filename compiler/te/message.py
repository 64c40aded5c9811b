"""Passing what is known of a stage's axes along its relations: domains and indices, down to the loops and up again.

*Down* goes from the operation's own axes to the loops, *up* the other way.  The scheme is that of TVM's bound
inference, which comes from Halide (Ragan-Kelley et al., PLDI 2013).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compiler.arith import Analyzer
from compiler.ir.origin import current_span, derived_from
from compiler.ir.primexpr import IntImm, IterVar, PrimExpr, Range, const, is_const_int
from compiler.te.relations import Fuse, Rebase, Split
from compiler.tir.op import ceildiv

Domains = dict[IterVar, Range]
Values = dict[IterVar, PrimExpr]


def from_zero(extent: PrimExpr) -> Range:
    """Return the range of ``extent`` integers from zero."""
    return Range.from_fields(const(0, extent.dtype), extent)


def pass_down_domain(stage: Any, domains: Domains, analyzer: Analyzer) -> None:
    """Add the domains of all axes that come from axes with a domain.

    An axis whose parents have none gets none.
    """
    for r in stage.relations:
        if isinstance(r, Split):
            parent = domains.get(r.parent)
            if parent is not None:
                outer, inner = _split_extents(parent.extent, r, analyzer)
                domains[r.outer], domains[r.inner] = from_zero(outer), from_zero(inner)
        elif isinstance(r, Fuse):
            if r.outer in domains and r.inner in domains:
                domains[r.fused] = from_zero(_product(domains[r.outer].extent, domains[r.inner].extent, analyzer))
        elif isinstance(r, Rebase):
            if r.parent in domains:
                domains[r.rebased] = from_zero(domains[r.parent].extent)
        else:
            domains[r.iter] = from_zero(const(1))


def _split_extents(extent: PrimExpr, split: Split, analyzer: Analyzer) -> tuple[PrimExpr, PrimExpr]:
    """Return the extents of the outer and the inner loop; neither is longer than the parent where that is known."""
    given = split.size
    if isinstance(extent, IntImm) and isinstance(given, IntImm):
        size = max(1, min(extent.value, given.value))
        one: PrimExpr = IntImm(extent.dtype, size)
        other: PrimExpr = IntImm(extent.dtype, -(-extent.value // size))
    else:
        one = given.astype(extent.dtype)
        other = analyzer.simplify(ceildiv(extent, one))
    return (other, one) if split.factor is not None else (one, other)


def _product(a: PrimExpr, b: PrimExpr, analyzer: Analyzer) -> PrimExpr:
    value = a * b
    return value if isinstance(value, IntImm) else analyzer.simplify(value)


def loop_values(axes: Iterable[IterVar], domains: Domains) -> Values:
    """Return the value of each loop: its counter, or its only value."""
    return {a: domains[a].min if is_const_int(domains[a].extent, 1) else a.var for a in axes}


def pass_up_index(stage: Any, domains: Domains, values: Values) -> None:
    """Add the values of all axes that loops with a value come from; axes without one are left out."""
    for r in reversed(stage.relations):
        if isinstance(r, Split):
            if r.outer in values and r.inner in values:
                with derived_from(current_span() | r.outer.span):
                    whole = values[r.inner] + values[r.outer] * domains[r.inner].extent
                    values[r.parent] = whole + domains[r.parent].min
        elif isinstance(r, Fuse):
            if r.fused in values:
                value, extent = values[r.fused], domains[r.inner].extent
                with derived_from(current_span() | r.fused.span):
                    values[r.outer] = value // extent + domains[r.outer].min
                    values[r.inner] = value % extent + domains[r.inner].min
        elif isinstance(r, Rebase) and r.rebased in values:
            values[r.parent] = values[r.rebased] + domains[r.parent].min


def pass_down_index(stage: Any, domains: Domains, values: Values) -> None:
    """Add the values of all axes that come from axes with a value."""
    for r in stage.relations:
        if isinstance(r, Split):
            if r.parent in values:
                value, extent = values[r.parent] - domains[r.parent].min, domains[r.inner].extent
                values[r.outer], values[r.inner] = value // extent, value % extent
        elif isinstance(r, Fuse):
            if r.outer in values and r.inner in values:
                outer = values[r.outer] - domains[r.outer].min
                values[r.fused] = outer * domains[r.inner].extent + (values[r.inner] - domains[r.inner].min)
        elif isinstance(r, Rebase):
            if r.parent in values:
                values[r.rebased] = values[r.parent] - domains[r.parent].min
        else:
            values[r.iter] = const(0)


def reaches(stage: Any, axes: set[IterVar]) -> set[IterVar]:
    """Return the axes that are, or come from, some of ``axes``, and those that such ones come from.

    Two axes that were ever split from or fused into one belong together.
    """
    found = set(axes)
    for r in reversed(stage.relations):
        found |= _upwards(r, found)
    for r in stage.relations:
        found |= _downwards(r, found)
    return found


def comes_from(stage: Any, axes: set[IterVar]) -> set[IterVar]:
    """Return ``axes`` and all axes that were made from them."""
    found = set(axes)
    for r in stage.relations:
        found |= _downwards(r, found)
    return found


def _upwards(r: Any, found: set[IterVar]) -> set[IterVar]:
    match r:
        case Split() if r.outer in found or r.inner in found:
            return {r.parent}
        case Fuse() if r.fused in found:
            return {r.outer, r.inner}
        case Rebase() if r.rebased in found:
            return {r.parent}
    return set()


def _downwards(r: Any, found: set[IterVar]) -> set[IterVar]:
    match r:
        case Split() if r.parent in found:
            return {r.outer, r.inner}
        case Fuse() if r.outer in found or r.inner in found:
            return {r.fused}
        case Rebase() if r.parent in found:
            return {r.rebased}
    return set()


def overshooting(stage: Any, domains: Domains, analyzer: Analyzer) -> set[IterVar]:
    """Return the axes whose value, computed from the loops, can leave their domain."""
    found: set[IterVar] = set()
    for r in reversed(stage.relations):
        if isinstance(r, Split):
            covered = domains[r.inner].extent * domains[r.outer].extent
            extent = domains[r.parent].extent
            if r.outer in found or r.inner in found or not analyzer.can_prove_equal(covered, extent):
                found.add(r.parent)
        elif isinstance(r, Fuse):
            if r.fused in found:
                found |= {r.outer, r.inner}
        elif isinstance(r, Rebase) and r.rebased in found:
            found.add(r.parent)
    return found
