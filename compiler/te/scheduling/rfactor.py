"""``rfactor``: partial results along one reduction loop, then a reduction over that loop."""

from __future__ import annotations

from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError, ScheduleError, show
from compiler.ir.expr.primexpr import IterVar, PrimExpr, ProducerLoad, Range, Reduce, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.te.definition.dataflow import replace_dataflow
from compiler.te.definition.operation import ComputeOp, domain, has_dependent_domains
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.guards import bound_predicates, guarded_condition
from compiler.te.lowering.message_passing import (
    connected_axes,
    derived_axes,
    loop_values,
    pass_down_domain,
    pass_up_index,
    range_from_zero,
)
from compiler.te.relations.relation import Domains
from compiler.te.scheduling.stage import Stage
from compiler.te.scheduling.state import ScheduleState
from compiler.tir.expressions.builtin import if_then_else, likely


def factor_reduction(schedule: ScheduleState, tensor: Tensor, axis: IterVar, factor_axis: int) -> Tensor | list[Tensor]:
    """Insert a stage of partial results in front of a reduction; see ``Schedule.rfactor``.

    Both stages have plain loops afterwards.
    """
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"rfactor: tensor must be a tensor, got {show(tensor)}")
    stage = schedule[tensor]
    op, reduction = _reduction(stage, axis)
    place = _place(factor_axis, op)
    partial = _partial_results(stage, op, reduction, axis, place)
    final = _final_reduction(op, reduction, partial, axis, place)
    replaced = dict(zip(op.outputs, final.outputs, strict=True))
    stage.set_op(final)
    replace_dataflow(schedule.stages, replaced)
    schedule.add_stage(schedule.stages.index(stage), partial, [stage])
    return partial.output(0) if partial.num_outputs == 1 else list(partial.outputs)


def _reduction(stage: Stage, axis: IterVar) -> tuple[ComputeOp, Reduce]:
    op = stage.op
    if not isinstance(op, ComputeOp) or not isinstance(op.body[0], Reduce):
        raise ScheduleError(f"rfactor: stage {op.name!r} must be a reduction")
    stage.require_leaf("rfactor", axis)
    if axis.iter_type != IterVar.CommReduce:
        loops = ", ".join(a.var.name for a in stage.leaf_iter_vars if a.iter_type == IterVar.CommReduce)
        raise ScheduleError(
            f"rfactor: axis must be a reduction loop, got {axis.var.name!r} of stage {op.name!r}; "
            f"its reduction loops are {loops}"
        )
    if axis in derived_axes(stage, set(op.axis)):
        raise ScheduleError(
            f"rfactor: axis {axis.var.name!r} of stage {op.name!r} is fused with a data-parallel axis, and must"
            f" be made of reduction axes only"
        )
    if has_dependent_domains(op):
        raise ScheduleError(f"rfactor: the domain of the reduction of stage {op.name!r} depends on the element")
    return op, op.body[0]


def _place(factor_axis: int, op: ComputeOp) -> int:
    count = len(op.axis)
    if not isinstance(factor_axis, int) or not -count - 1 <= factor_axis <= count:
        raise ArgumentError(
            f"rfactor: factor_axis must be an int from {-count - 1} to {count}, got {show(factor_axis)} "
            f"(stage {op.name!r})"
        )
    return factor_axis if factor_axis >= 0 else count + 1 + factor_axis


def _partial_results(stage: Stage, op: ComputeOp, reduction: Reduce, axis: IterVar, place: int) -> ComputeOp:
    """Reduce over all loops but ``axis``, which becomes a dimension."""
    family = connected_axes(stage, {axis})
    analyzer = Analyzer()
    domains: Domains = {a: domain(a) for a in op.root_iter_vars}
    pass_down_domain(stage, domains, analyzer, as_asked=True)
    begin = domains[axis].min
    domains[axis] = range_from_zero(domains[axis].extent)
    values = loop_values(stage.leaf_iter_vars, domains)
    values[axis] += begin
    for a in stage.all_iter_vars:
        analyzer.bind(a.var, domains[a], override=True)
    pass_up_index(stage, domains, values)
    skip = {a for a in stage.all_iter_vars if a not in family}
    guards = bound_predicates(stage, domains, values, analyzer, skip=skip, skip_own_domain=True)
    roots = [a for a in op.reduce_axis if a in family]
    replaced: dict[Var, PrimExpr] = {a.var: values[a] for a in roots if values[a] is not a.var}
    others = [a for a in op.reduce_axis if a not in family]
    inner = [a for a in stage.leaf_iter_vars if a in family and a is not axis]
    reduce_axes = (*others, *(IterVar(domains[a], a.var, IterVar.CommReduce, span=a.span) for a in inner))
    condition = substitute(reduction.condition, replaced)
    condition = likely(guarded_condition(condition, guards))
    source = tuple(substitute(e, replaced) for e in reduction.source)
    dimension = IterVar(domains[axis], axis.var, IterVar.DataPar, span=axis.span)
    axes = (*op.axis[:place], dimension, *op.axis[place:])
    body: tuple[PrimExpr, ...]
    if reduce_axes:
        body = tuple(Reduce(reduction.combiner, source, reduce_axes, condition, i) for i in range(len(source)))
    else:
        identity = reduction.combiner.identity_element
        body = tuple(if_then_else(condition, e, start) for e, start in zip(source, identity, strict=True))
    return ComputeOp(f"{op.name}.rf", op.tag, op.attrs, axes, body)


def _final_reduction(op: ComputeOp, reduction: Reduce, partial: ComputeOp, axis: IterVar, place: int) -> ComputeOp:
    """Reduce the partial results over their new dimension, from the initial values if there are some."""
    axes = tuple(
        IterVar(Range.from_fields(const(0, a.var.dtype), domain(a).extent), Var(f"ax{i}", a.var.dtype), IterVar.DataPar)
        for i, a in enumerate(op.axis)
    )
    dimension = domain(partial.axis[place])
    last = IterVar(dimension, Var(f"{axis.var.name}.v", axis.var.dtype), IterVar.CommReduce)
    indices = (*(a.var for a in axes[:place]), last.var, *(a.var for a in axes[place:]))
    source = tuple(ProducerLoad(t, indices) for t in partial.outputs)
    elements: dict[Var, PrimExpr] = {old.var: new.var for old, new in zip(op.axis, axes, strict=True)}
    init = tuple(substitute(e, elements) for e in reduction.init)
    body = tuple(Reduce(reduction.combiner, source, (last,), const(True), i, init) for i in range(len(source)))
    return ComputeOp(f"{op.name}.repl", op.tag, op.attrs, axes, body)
