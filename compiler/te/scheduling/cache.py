"""``cache_read`` and ``cache_write``: stages that copy a tensor for its readers, or from where it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from compiler.ir.error import ArgumentError, ScheduleError, show
from compiler.ir.expr.primexpr import IterVar, PrimExpr, ProducerLoad, Range, Reduce, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.te.definition.compute_body import substitute_body
from compiler.te.definition.dataflow import replace_dataflow, replace_inputs, rewrite_dataflow
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.definition.tensor_compute import TensorComputeOp
from compiler.te.lowering.guards import guarded_condition
from compiler.te.lowering.loop_layout import Layout, loop_layout
from compiler.te.scheduling.stage import Stage
from compiler.te.scheduling.state import ScheduleState
from compiler.tir.expressions.builtin import if_then_else

Tensors: TypeAlias = Tensor | list[Tensor] | tuple[Tensor, ...]
Readers: TypeAlias = Tensors | Operation | list[Tensor | Operation] | tuple[Tensor | Operation, ...]
"""The stages that read a copy: what they compute, one or several."""


def cache_read(schedule: ScheduleState, tensor: Tensor, scope: str, readers: Readers) -> Tensor:
    """Insert a stage that copies ``tensor`` for some of its readers; see ``Schedule.cache_read``."""
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"cache_read: tensor must be a tensor, got {show(tensor)}")
    _check_scope("cache_read", scope)
    stage = schedule[tensor]
    source = stage.op.output(tensor.value_index)
    reader_stages = _reader_stages(schedule, source, readers)
    cached = _copy_of(source, _free_name(schedule, source, scope)).output(0)

    def rewrite(reader: Stage) -> Operation:
        return replace_inputs(reader.op, {source: cached}) if reader in reader_stages else reader.op

    rewrite_dataflow(schedule.stages, rewrite)
    new_stage = schedule.add_stage(schedule.stages.index(stage) + 1, cached.op, [stage, *reader_stages])
    new_stage.scope = scope
    return cached


def _reader_stages(schedule: ScheduleState, source: Tensor, readers: Readers) -> list[Stage]:
    stages = [schedule[r] for r in (readers if isinstance(readers, (list, tuple)) else [readers])]
    if not stages:
        raise ArgumentError(f"cache_read: readers must not be empty (tensor {source.name!r})")
    for s in stages:
        if not any(t is source for t in s.op.input_tensors):
            raise ScheduleError(f"cache_read: readers must read {source.name!r}, and {s.op.name!r} does not")
    return stages


def _free_name(schedule: ScheduleState, source: Tensor, scope: str) -> str:
    """Return ``A.local``, or ``A.d.local`` and so on where that is taken."""
    base = source.op.name if source.op.num_outputs == 1 else source.name
    taken = {stage.op.name for stage in schedule.stages}
    while f"{base}.{scope}" in taken:
        base += ".d"
    return f"{base}.{scope}"


def _copy_of(source: Tensor, name: str) -> ComputeOp:
    axes = tuple(IterVar(Range(0, d), Var(f"ax{i}", d.dtype), IterVar.DataPar) for i, d in enumerate(source.shape))
    return ComputeOp(name, "", {}, axes, (ProducerLoad(source, tuple(a.var for a in axes)),))


def cache_write(schedule: ScheduleState, tensors: Tensors, scope: str) -> Tensor | list[Tensor]:
    """Insert a stage that computes ``tensors``, of which they become copies; see ``Schedule.cache_write``.

    Loops that were made before (by split, fuse, reorder) become the dimensions of the cache.
    """
    outputs = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    if not outputs:
        raise ArgumentError("cache_write: tensors must not be empty")
    for t in outputs:
        if not isinstance(t, Tensor):
            raise ArgumentError(f"cache_write: expected a tensor, got {show(t)}")
    _check_scope("cache_write", scope)
    stage = schedule[outputs[0]]
    op = _operation_of(schedule, stage, outputs, scope)
    layout = loop_layout(stage)
    axes = tuple(
        IterVar(dom, Var(f"{axis.var.name}.c", axis.var.dtype), IterVar.DataPar)
        for axis, dom in zip(layout.axes, layout.domains, strict=True)
    )
    renamed: dict[Var, PrimExpr] = {old.var: new.var for old, new in zip(layout.axes, axes, strict=True)}
    name = f"{op.name}.{scope}"
    cached: Operation
    if isinstance(op, TensorComputeOp):
        cached = _calls_in(op, name, layout, axes, renamed)
    else:
        cached = ComputeOp(name, op.tag, op.attrs, axes, _body_in(op, layout, renamed))
    # What an intrinsic computed has loops where it is copied.
    own = tuple(a if a.iter_type == IterVar.DataPar else IterVar(a.dom, a.var, IterVar.DataPar) for a in op.axis)
    indices = (*layout.indices, *(a.var for a, old in zip(own, op.axis, strict=True) if a is not old))
    copies = tuple(ProducerLoad(t, indices) for t in cached.outputs)
    copy = ComputeOp(op.name, op.tag, op.attrs, own, copies)
    mapping = dict(zip(op.outputs, copy.outputs, strict=True))
    stage.set_op(copy)
    replace_dataflow(schedule.stages, mapping)
    schedule.add_stage(schedule.stages.index(stage), cached, [stage]).scope = scope
    return list(cached.outputs) if isinstance(tensors, (list, tuple)) else cached.output(0)


def _body_in(op: ComputeOp, layout: Layout, renamed: dict[Var, PrimExpr]) -> tuple[PrimExpr, ...]:
    """Return the body of ``op`` as a function of the layout's axes; zero or the identity outside of its domain."""
    values = {axis.var: substitute(value, renamed) for axis, value in layout.values.items()}
    guard = substitute(layout.guard, renamed) if layout.guard is not None else None
    body = substitute_body(op.body, values)
    if guard is None:
        return body
    first = body[0]
    if isinstance(first, Reduce):
        condition = guarded_condition(first.condition, [guard])
        return tuple(
            Reduce(first.combiner, first.source, first.axis, condition, i, first.init) for i in range(len(body))
        )
    return tuple(if_then_else(guard, e, const(0, e.dtype)) for e in body)


def _calls_in(
    op: TensorComputeOp, name: str, layout: Layout, axes: tuple[IterVar, ...], renamed: dict[Var, PrimExpr]
) -> TensorComputeOp:
    """Return the operation that calls the intrinsic of ``op`` for each value of the layout's axes."""
    if layout.guard is not None:
        raise ScheduleError(
            f"cache_write: the loops of {op.name!r} go beyond its elements, and an intrinsic cannot be guarded; "
            "split by factors that divide the extents"
        )
    values = {axis.var: substitute(value, renamed) for axis, value in layout.values.items()}
    regions = tuple(
        tuple(Range.from_fields(substitute(r.min, values), substitute(r.extent, values)) for r in region)
        for region in op.input_regions
    )
    rest = op.axis[op.schedulable_ndim :]
    return TensorComputeOp(
        name, op.tag, op.attrs, (*axes, *rest), op.reduce_axes, len(axes), op.intrin, op.inputs, regions
    )


def _operation_of(
    schedule: ScheduleState, stage: Stage, tensors: Sequence[Tensor], scope: str
) -> ComputeOp | TensorComputeOp:
    op = stage.op
    if not isinstance(op, (ComputeOp, TensorComputeOp)):
        raise ScheduleError(f"cache_write: {op.name!r} is a placeholder, which is not computed")
    if len(tensors) != op.num_outputs or any(schedule[t] is not stage for t in tensors):
        raise ScheduleError(
            f"cache_write: all {op.num_outputs} outputs of {op.name!r} must be given, got {len(tensors)}"
        )
    if any(t.op.name == f"{op.name}.{scope}" for t in op.inputs):
        raise ScheduleError(f"cache_write: {op.name!r} has a cache in scope {scope!r} already")
    return op


def _check_scope(primitive_name: str, scope: object) -> None:
    if not isinstance(scope, str):
        raise ArgumentError(f"{primitive_name}: scope must be a string, got {show(scope)}")
