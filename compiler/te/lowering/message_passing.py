"""Message passing: propagates domains, values and sets between a stage's axes and its loops, along its relations.

*Down* goes from the operation's own axes to the loops, *up* the other way.  The scheme is that of TVM's bound
inference (``message_passing.h``), which comes from Halide (Ragan-Kelley et al., PLDI 2013).  What a single relation
does stands in its own file, see :class:`compiler.te.relations.Relation`.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.arith import Analyzer, IntSet
from compiler.arith.int_set import IntervalSet
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Range, const, is_const_int
from compiler.ir.origin import current_span, derived_from
from compiler.te.relations.relation import Domains, Sets, Values
from compiler.te.scheduling.stage_state import StageState
from compiler.te.scheduling.storage import is_virtual


def range_from_zero(extent: PrimExpr) -> Range:
    """Return the range of ``extent`` integers from zero."""
    return Range.from_fields(const(0, extent.dtype), extent)


def pass_down_domain(stage: StageState, domains: Domains, analyzer: Analyzer, *, as_asked: bool = False) -> None:
    """Add the domains of all axes whose parents have one to those given.

    With ``as_asked``, loops are as long as the schedule asked for, even beyond the axis that they are made of: one that
    is not bound yet may be bound to more threads than there are elements.
    """
    for relation in stage.relations:
        if all(parent in domains for parent in relation.parents):
            extents = relation.extents_down(domains, analyzer)
            for child, extent, asked in zip(relation.children, extents, relation.requested_extents(), strict=True):
                kept = asked is not None and (as_asked or _is_launched(stage, child))
                domains[child] = range_from_zero(asked.astype(extent.dtype) if asked is not None and kept else extent)


def _is_launched(stage: StageState, axis: IterVar) -> bool:
    """Return whether a loop is bound to threads of a device: all stages of a kernel launch as many."""
    attr = stage.iter_var_attrs.get(axis)
    return attr is not None and attr.bind_thread is not None and not is_virtual(attr.bind_thread)


def loop_values(axes: Iterable[IterVar], domains: Domains) -> Values:
    """Return the value of each loop: its counter, or its only value."""
    return {a: domains[a].min if is_const_int(domains[a].extent, 1) else a.var for a in axes}


def pass_up_index(stage: StageState, domains: Domains, values: Values) -> None:
    """Add the values of all axes whose children have one to those given, to begin with the loops."""
    for relation in reversed(stage.relations):
        if all(child in values for child in relation.children):
            with derived_from(current_span() | relation.span):
                offsets = relation.values_up(values, domains)
                for parent, offset in zip(relation.parents, offsets, strict=True):
                    values[parent] = offset + domains[parent].min


def pass_down_index(stage: StageState, domains: Domains, values: Values) -> None:
    """Add the values of all axes whose parents have one; the opposite of :func:`pass_up_index`."""
    for relation in stage.relations:
        if all(parent in values for parent in relation.parents):
            offsets = {parent: values[parent] - domains[parent].min for parent in relation.parents}
            values.update(zip(relation.children, relation.values_down(offsets, domains), strict=True))


def pass_up_domain(stage: StageState, domains: Domains, sets: Sets, analyzer: Analyzer) -> None:
    """Add intervals for all axes, which hold their values while the loops run over the sets that they have."""
    for relation in reversed(stage.relations):
        if all(_covers(sets[child], domains[child], analyzer) for child in relation.children):
            sets.update((parent, IntSet.from_range(domains[parent])) for parent in relation.parents)
        else:
            offsets = relation.sets_up(sets, domains, analyzer)
            for parent, offset in zip(relation.parents, offsets, strict=True):
                sets[parent] = _shifted(offset, domains[parent].min, analyzer)


def _covers(interval: IntervalSet, domain: Range, analyzer: Analyzer) -> bool:
    """Return whether a loop runs over the whole of its domain."""
    last = domain.min + domain.extent - 1
    return analyzer.can_prove_equal(interval.min_value, domain.min) and analyzer.can_prove_equal(
        interval.max_value, last
    )


def _shifted(interval: IntervalSet, begin: PrimExpr, analyzer: Analyzer) -> IntervalSet:
    if isinstance(begin, IntImm) and begin.value == 0:
        return interval
    if interval.is_single_point():
        return IntSet.single_point(analyzer.simplify(interval.min_value + begin))
    return IntSet.interval(
        analyzer.simplify(interval.min_value + begin) if interval.has_lower_bound() else interval.min_value,
        analyzer.simplify(interval.max_value + begin) if interval.has_upper_bound() else interval.max_value,
    )


def derived_axes(stage: StageState, axes: set[IterVar]) -> set[IterVar]:
    """Return ``axes`` and all axes that were made from them, directly or not."""
    derived = set(axes)
    for relation in stage.relations:
        if not derived.isdisjoint(relation.parents):
            derived.update(relation.children)
    return derived


def connected_axes(stage: StageState, axes: set[IterVar]) -> set[IterVar]:
    """Return ``axes``, the axes that they were made from, and all that were made from any of these.

    Two axes that were ever split from or fused into one are connected.
    """
    connected = set(axes)
    for relation in reversed(stage.relations):
        if not connected.isdisjoint(relation.children):
            connected.update(relation.parents)
    return derived_axes(stage, connected)


def axes_to_guard(stage: StageState, domains: Domains, analyzer: Analyzer) -> set[IterVar]:
    """Return the axes whose value, computed from the loops, can leave their domain."""
    axes: set[IterVar] = set()
    for relation in reversed(stage.relations):
        if not axes.isdisjoint(relation.children) or not relation.covers_exactly(domains, analyzer):
            axes.update(relation.parents)
    return axes
