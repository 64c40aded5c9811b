"""Normalises a schedule into the form that is lowered."""

from __future__ import annotations

from typing import TypeVar

from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import IterVar, Var
from compiler.te.definition.dataflow import rewrite_dataflow
from compiler.te.definition.operation import PlaceholderOp
from compiler.te.definition.scan import ScanOp
from compiler.te.lowering.inlining import with_inlined
from compiler.te.relations.rebase import Rebase
from compiler.te.scheduling.group import enclosing_groups
from compiler.te.scheduling.primitives import line_of
from compiler.te.scheduling.stage import AttachType, Stage
from compiler.te.scheduling.stage_state import position
from compiler.te.scheduling.state import ScheduleState

S = TypeVar("S", bound=ScheduleState)


def normalize(schedule: S) -> S:
    """Return a copy of the schedule that is inlined, whose loops start at zero and whose places are loops."""
    new = schedule.copy()
    _refuse_placed_outputs(new)
    new.place_scan_bodies()
    _inline(new)
    _place_groups(new)
    _place_initial_elements(new)
    for stage in new.stages:
        _settle_attachment(stage)
    _rebase(new)
    return new


def _refuse_placed_outputs(schedule: ScheduleState) -> None:
    """Reject an output that is computed at a loop of another stage, or of its own."""
    for stage in schedule.stages:
        if stage.is_output and stage.attach_type is AttachType.SCOPE:
            line = line_of(schedule.primitives, "compute_at", stage.origin_op.name)
            raise ScheduleError(
                f"compute_at: stage {stage.origin_op.name!r} is an output, which must be computed as a whole{line}"
            )


def _inline(schedule: ScheduleState) -> None:
    """Put the bodies of inlined stages into their readers and drop their stages."""
    inlined = {stage.op for stage in schedule.stages if stage.attach_type is AttachType.INLINE}
    readers = {stage.op for stage in schedule.stages} - inlined
    if inlined:
        rewrite_dataflow(schedule.stages, lambda s: with_inlined(s.op, inlined) if s.op in readers else s.op)
    schedule.stages = [s for s in schedule.stages if s.attach_type is not AttachType.INLINE]
    for stage in schedule.stages:
        if stage.attach_stage is not None and stage.attach_stage.attach_type is AttachType.INLINE:
            raise ScheduleError(
                f"compute_at: stage {stage.op.name!r} is computed in stage {stage.attach_stage.op.name!r}, "
                "which is inlined and has no loops"
            )


def _place_groups(schedule: ScheduleState) -> None:
    """Put the stages that have no place of their own where their group is computed."""
    for stage in schedule.stages:
        if stage.attach_type not in (AttachType.ROOT, AttachType.SCAN_UPDATE):
            continue
        for group in enclosing_groups(stage):
            if group.attach_stage is not None:
                stage.attach_type, stage.attach_stage, stage.attach_ivar = (
                    group.attach_type,
                    group.attach_stage,
                    group.attach_ivar,
                )
                break


def _place_initial_elements(schedule: ScheduleState) -> None:
    """Compute the initial elements of a scan where that is computed: they are written into the same buffer."""
    for scan in schedule.stages:
        if isinstance(scan.op, ScanOp) and scan.attach_type is AttachType.SCOPE:
            for tensor in scan.op.init:
                stage = schedule[tensor.op]
                if stage.attach_type is AttachType.ROOT and not isinstance(stage.op, PlaceholderOp):
                    stage.attach_type, stage.attach_stage, stage.attach_ivar = (
                        scan.attach_type,
                        scan.attach_stage,
                        scan.attach_ivar,
                    )


def _settle_attachment(stage: Stage) -> None:
    """Follow an axis that was split or fused after a stage was put there."""
    while stage.attach_stage is not None:
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
