"""Bound inference: which elements of each stage are needed at the place where it is computed.

Stages are visited from the outputs backwards.  What a stage must provide is the union of what each of its consumers
reads there, with the consumers' loops outside of the place of the stage fixed and those inside run over in full.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler.arith import Analyzer, IntSet, eval_set
from compiler.arith.int_set import IntervalSet
from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import IntImm, IterVar, Max, PrimExpr, Range, Var, const
from compiler.ir.origin import derived_from
from compiler.te.definition.operation import PlaceholderOp, domain, has_dependent_domains
from compiler.te.definition.tensor import Operation
from compiler.te.lowering.message_passing import derived_axes, pass_down_domain, pass_up_domain
from compiler.te.relations.relation import Domains, Sets
from compiler.te.scheduling.primitives import line_of
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import AttachType, Stage
from compiler.te.scheduling.stage_state import position
from compiler.te.scheduling.storage import relaxed_by_scope

if TYPE_CHECKING:
    from compiler.te.definition.tensor import Region


@dataclass(slots=True)
class Bounds:
    """The domains of the axes of all stages, and the loops that each stage is computed in, innermost first."""

    domains: Domains = field(default_factory=dict)
    analyzer: Analyzer = field(default_factory=Analyzer)
    attach_path: dict[Operation, list[IterVar]] = field(default_factory=dict)


def infer_bound(schedule: Schedule) -> Bounds:
    """Infer the domains of all axes of a normalized schedule."""
    bounds = Bounds()
    readers: dict[Operation, list[Stage]] = defaultdict(list)
    for stage in schedule.stages:
        bounds.attach_path[stage.op] = attach_path(stage)
        for op in dict.fromkeys(t.op for t in stage.op.input_tensors):
            readers[op].append(stage)
    for stage in reversed(schedule.stages):
        with derived_from(stage.op.span | stage.place_span):
            _infer_root(stage, readers[stage.op], bounds)
            _widen_fused_reductions(stage, bounds)
            pass_down_domain(stage, bounds.domains, bounds.analyzer)
        if has_dependent_domains(stage.op):
            for axis in stage.op.axis:
                bounds.analyzer.bind(axis.var, bounds.domains[axis], override=True)
        for axis in stage.leaf_iter_vars:
            bounds.analyzer.bind(axis.var, bounds.domains[axis], override=True)
    return bounds


def attach_path(stage: Stage) -> list[IterVar]:
    """Return the loops of other stages that a stage is computed in, innermost first."""
    return [axis for _, axis in _enclosing_loops(stage)]


def _enclosing_loops(stage: Stage) -> Iterator[tuple[Stage, IterVar]]:
    """Yield the loops of other stages that a stage is computed in, each with its stage, innermost first."""
    inner = stage
    while inner.attach_stage is not None:
        outer = inner.attach_stage
        if outer is stage:
            raise ScheduleError(f"compute_at: stage {stage.op.name!r} would be computed inside of itself")
        place = position(outer.leaf_iter_vars, inner.attach_ivar)
        for axis in reversed(outer.leaf_iter_vars[: place + 1]):
            yield outer, axis
        inner = outer


def _infer_root(stage: Stage, consumers: list[Stage], bounds: Bounds) -> None:
    """Find the domains of a stage's own axes."""
    op = stage.op
    if isinstance(op, PlaceholderOp):
        return
    if stage.attach_type is AttachType.ROOT and (stage.is_output or not consumers):
        bounds.domains.update((axis, domain(axis)) for axis in op.root_iter_vars)
        return
    regions: list[Region] = []
    for consumer in consumers:
        _check_visible(stage, consumer, bounds)
        regions += _read_by(consumer, stage, bounds)
    bounds.domains.update(op.domains_for(regions, bounds.analyzer))


def _widen_fused_reductions(stage: Stage, bounds: Bounds) -> None:
    """Let a reduction whose extent depends on the element run as far as any element needs where it is fused with one.

    A fused loop finds its row by the width of the rows, which must be the same for all, and one at least, since each
    row has an initial value; guards leave out the rest.
    """
    op, domains = stage.op, bounds.domains
    if not has_dependent_domains(op):
        return
    over_elements = derived_axes(stage, set(op.axis))
    elements = {axis.var: IntSet.from_range(domains[axis]) for axis in op.axis}
    for axis in op.reduce_axis:
        if not over_elements.isdisjoint(derived_axes(stage, {axis})):
            values = _over_all(IntSet.from_range(domains[axis]), elements, bounds.analyzer)
            widest = values.cover_range(domains[axis], bounds.analyzer)
            if not bounds.analyzer.can_prove(widest.extent >= 1):
                widest = Range.from_min_extent(widest.min, Max(widest.extent, const(1, widest.extent.dtype)))
            domains[axis] = widest


def _check_visible(stage: Stage, consumer: Stage, bounds: Bounds) -> None:
    if stage.attach_ivar is None:
        return
    outer_loops = bounds.attach_path[consumer.op]
    if consumer is stage.attach_stage or position(outer_loops, stage.attach_ivar) >= 0:
        return
    assert stage.attach_stage is not None
    assert stage.attach_ivar is not None
    line = line_of(stage.schedule.primitives, "compute_at", stage.op.name)
    raise ScheduleError(
        f"compute_at: stage {stage.op.name!r} is computed at axis {stage.attach_ivar.var.name!r} of stage "
        f"{stage.attach_stage.op.name!r}, outside of its consumer {consumer.op.name!r}{line}; "
        f"compute {consumer.op.name!r} inside of that loop as well, or {stage.op.name!r} at a place that encloses both"
    )


def _read_by(consumer: Stage, stage: Stage, bounds: Bounds) -> list[Region]:
    """Return what ``consumer`` reads of ``stage`` in one iteration of the loops around the stage."""
    loops: Sets = {}
    relaxed: dict[Var, IntervalSet] = {}
    inside_attach = False
    for axis in reversed(consumer.leaf_iter_vars):
        inside_attach = inside_attach or axis is stage.attach_ivar
        dom = bounds.domains[axis]
        if isinstance(dom.extent, IntImm) and dom.extent.value == 1:
            loops[axis] = IntSet.single_point(dom.min)
        elif _runs_over(axis, consumer, stage, inside_attach):
            loops[axis] = IntSet.from_range(dom)
        else:
            thread = consumer.thread_of(axis)
            loops[axis] = IntSet.single_point(axis.var if thread is None else thread.var.astype(axis.var.dtype))
    enclosing: list[tuple[Stage, IterVar]] = []
    for owner, axis in _enclosing_loops(consumer):
        inside_attach = inside_attach or axis is stage.attach_ivar
        if _runs_over(axis, owner, stage, inside_attach):
            enclosing.append((owner, axis))
    for owner, axis in reversed(enclosing):
        thread = owner.thread_of(axis)
        relaxed[axis.var if thread is None else thread.var] = _run_over(axis, owner, relaxed, bounds)
    pass_up_domain(consumer, bounds.domains, loops, bounds.analyzer)
    sets = {axis.var: _cover(axis, loops, relaxed, bounds) for axis in consumer.op.root_iter_vars}
    analyzer = bounds.analyzer
    if has_dependent_domains(consumer.op):
        elements = {axis.var: sets[axis.var] for axis in consumer.op.axis}
        sets |= {a.var: _over_all(sets[a.var], elements, analyzer) for a in consumer.op.reduce_axis}
    return [
        (tensor, [_clamped(values, extent, analyzer) for values, extent in zip(region, tensor.shape, strict=True)])
        for tensor, region in consumer.op.regions_read(stage.op, sets, analyzer)
    ]


def _run_over(axis: IterVar, owner: Stage, outer: Mapping[Var, IntervalSet], bounds: Bounds) -> IntervalSet:
    """Return the values of a loop while those around it run, on whose elements its extent may depend."""
    values = IntSet.from_range(bounds.domains[axis])
    if not outer or not has_dependent_domains(owner.op):
        return values
    elements = {a.var: eval_set(bounds.domains[a], outer, bounds.analyzer) for a in owner.op.axis}
    return _over_all(values, {**elements, **outer}, bounds.analyzer)


def _over_all(values: IntervalSet, elements: Mapping[Var, IntervalSet], analyzer: Analyzer) -> IntervalSet:
    """Return the values of a reduction axis for all elements, where its domain depends on these."""
    low, high = eval_set(values.min_value, elements, analyzer), eval_set(values.max_value, elements, analyzer)
    return IntSet.interval(low.min_value, high.max_value)


def _runs_over(axis: IterVar, owner: Stage, stage: Stage, inside_attach: bool) -> bool:
    """Return whether a loop is run over in full, rather than fixed, while the stage is computed once."""
    thread = owner.thread_of(axis)
    if thread is None:
        return not inside_attach
    return relaxed_by_scope(stage, thread, inside_attach)


def _cover(axis: IterVar, loops: Sets, relaxed: dict[Var, IntervalSet], bounds: Bounds) -> IntervalSet:
    values = loops.get(axis)
    covered = bounds.domains[axis] if values is None else values.cover_range(domain(axis), bounds.analyzer)
    if relaxed:
        return eval_set(covered, relaxed, bounds.analyzer)
    return IntSet.from_range(covered)


def _clamped(indices: IntervalSet, extent: PrimExpr, analyzer: Analyzer) -> IntervalSet:
    """Cut a set that is known to reach beyond both ends of a dimension: such reads are guarded, or never happen.

    One end alone stays as it is, lest the other one be known to lie before it in some iteration only.
    """
    zero, last = const(0, extent.dtype), extent - 1
    low, high = indices.min_value, indices.max_value
    from_below = not indices.has_lower_bound() or analyzer.can_prove(low <= zero)
    if from_below and (not indices.has_upper_bound() or analyzer.can_prove(high >= last)):
        return IntSet.interval(zero, analyzer.simplify(last))
    if not indices.is_bounded():
        low = low if indices.has_lower_bound() else zero
        high = high if indices.has_upper_bound() else analyzer.simplify(last)
        return IntSet.interval(low, high)
    return indices
