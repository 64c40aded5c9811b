"""Bringing a schedule into the form that is lowered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from compiler.ir.error import ScheduleError
from compiler.ir.primexpr import IterVar, PrimExpr, Var
from compiler.ir.substitute import substitute
from compiler.te.compute_body import LoadMutator, map_body
from compiler.te.dataflow import rewrite_dataflow
from compiler.te.operation import ComputeOp, PlaceholderOp
from compiler.te.relations.rebase import Rebase
from compiler.te.schedule_state import ScheduleState
from compiler.te.stage import AttachType, Stage
from compiler.te.stage_state import position
from compiler.te.tensor import Operation, Tensor

__all__ = ["normalize"]

S = TypeVar("S", bound=ScheduleState)


def normalize(schedule: S) -> S:
    """Return a copy of the schedule that is inlined, whose loops start at zero and whose places are loops."""
    new = schedule.copy()
    _inline(new)
    for stage in new.stages:
        _settle_attachment(stage)
    _rebase(new)
    return new


def _inline(schedule: ScheduleState) -> None:
    """Put the bodies of inlined stages into their readers, the last one first, and drop their stages."""
    for i in range(len(schedule.stages) - 1, -1, -1):
        stage = schedule.stages[i]
        if stage.attach_type is AttachType.INLINE:
            rewrite_dataflow(schedule.stages[i + 1 :], _inliner(stage.op))
    schedule.stages = [s for s in schedule.stages if s.attach_type is not AttachType.INLINE]
    for stage in schedule.stages:
        if stage.attach_stage is not None and stage.attach_stage.attach_type is AttachType.INLINE:
            raise ScheduleError(
                f"compute_at: stage {stage.op.name!r} is computed in stage {stage.attach_stage.op.name!r}, "
                "which is inlined and has no loops"
            )


def _inliner(inlined: Operation) -> Callable[[Stage], Operation]:
    return lambda reader: _with_inlined(reader.op, inlined)


def _with_inlined(reader: Operation, inlined: Operation) -> Operation:
    assert isinstance(inlined, ComputeOp)
    if not isinstance(reader, ComputeOp) or not any(t.op is inlined for t in reader.input_tensors):
        return reader
    axes = [a.var for a in inlined.axis]

    def replace(tensor: Tensor, indices: tuple[PrimExpr, ...]) -> PrimExpr | None:
        if tensor.op is not inlined:
            return None
        value: PrimExpr = inlined.body[tensor.value_index]
        return substitute(value, dict(zip(axes, indices, strict=True)))

    return reader.with_body(map_body(reader.body, LoadMutator(replace).visit))


def _settle_attachment(stage: Stage) -> None:
    """Follow an axis that was split or fused after a stage was put there."""
    while stage.attach_type is AttachType.SCOPE:
        assert stage.attach_stage is not None
        if position(stage.attach_stage.leaf_iter_vars, stage.attach_ivar) >= 0:
            return
        for relation in stage.attach_stage.relations:
            if position(relation.parents, stage.attach_ivar) >= 0:
                stage.attach_ivar = relation.children[-1]
                break
        else:
            assert stage.attach_ivar is not None
            raise ScheduleError(
                f"compute_at: stage {stage.op.name!r} is computed at axis {stage.attach_ivar.var.name!r} of stage "
                f"{stage.attach_stage.origin_op.name!r}, which a later cache_write or rfactor replaced; place it after"
            )


def _rebase(schedule: ScheduleState) -> None:
    """Give every loop over an operation's own axis a counter that starts at zero."""
    moved: dict[IterVar, IterVar] = {}
    for stage in schedule.stages:
        if isinstance(stage.op, PlaceholderOp):
            continue
        for axis in stage.op.root_iter_vars:
            at = position(stage.leaf_iter_vars, axis)
            if at < 0:
                continue
            rebased = IterVar(None, Var(axis.var.name, axis.var.dtype), axis.iter_type, span=axis.span)
            stage.relate(Rebase(axis, rebased), at)
            moved[axis] = rebased
    for stage in schedule.stages:
        if stage.attach_ivar in moved:
            stage.attach_ivar = moved[stage.attach_ivar]
