"""The GPU schedule of any fused group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from compiler.target.target import Target
from compiler.te import ComputeOp, Schedule, Stage, create_schedule
from compiler.te.definition.dataflow import post_dfs_order
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.stage_state import AttachType
from compiler.topi.schedules.anchor import output_operations
from compiler.topi.schedules.generic import inline_cheap, readers_of
from compiler.topi.schedules.gpu.contraction import schedule_conv, schedule_matmul
from compiler.topi.schedules.gpu.kit import bind_elements, size
from compiler.topi.schedules.gpu.reduction import schedule_reduction
from compiler.topi.schedules.gpu.softmax import schedule_softmax
from compiler.topi.tag import Tag

_Rule: TypeAlias = Callable[[Sequence[Tensor], ComputeOp, Target], Schedule | None]

_RULES: dict[str, _Rule] = {
    Tag.MATMUL: schedule_matmul,
    Tag.CONV: schedule_conv,
    Tag.CONV_TRANSPOSE: schedule_conv,
    Tag.SOFTMAX: schedule_softmax,
}
"""By the tag of the anchor; a rule returns None for what it has no better schedule than that of any group."""


def schedule_group(outputs: Sequence[Tensor], target: Target) -> Schedule:
    """Return the schedule of a group: every step is inlined, or runs in the threads of a kernel."""
    for op in post_dfs_order(output_operations(outputs)):
        if isinstance(op, ComputeOp) and op.tag in _RULES:
            schedule = _RULES[op.tag](outputs, op, target)
            if schedule is not None:
                return schedule
    return _step_by_step(outputs, target)


def _step_by_step(outputs: Sequence[Tensor], target: Target) -> Schedule:
    """Let each step that is stored be a kernel of its own; reductions run in that of the step which they are for."""
    ops = output_operations(outputs)
    schedule = create_schedule(ops)
    stored = inline_cheap(schedule, set(ops), always=(Tag.PAD, Tag.DILATE))
    stages = [stage for stage in schedule.stages if isinstance(stage.op, ComputeOp) and stage.op in stored]
    stores = {stage: _store(schedule, stage) for stage in stages if stage.op.reduce_axis}
    stores_of_one = {store for store, count in Counter(stores.values()).items() if count == 1}
    for stage in stages:
        if stage in stores:
            store = stores[stage]
            schedule_reduction(schedule, stage, store if store in stores_of_one else stage, target)
        elif stage not in stores_of_one:
            bind_elements(stage, target)
    return schedule


def _store(schedule: Schedule, stage: Stage) -> Stage:
    """Return what stores a reduction: the only step that reads it, if that has as many elements, else its own."""
    op, readers = stage.op, _stored_readers(schedule, stage.op)
    if not isinstance(op, ComputeOp) or op in schedule.outputs or len(readers) != 1 or len(op.body) > 1:
        return stage
    (reader,) = readers
    is_plain = isinstance(reader, ComputeOp) and not reader.reduce_axis
    return schedule[reader] if is_plain and size(reader.axis) == size(op.axis) is not None else stage


def _stored_readers(schedule: Schedule, op: Operation) -> list[Operation]:
    """Return what reads an operation, itself or through steps that are inlined."""
    readers = readers_of(schedule)
    stored, waiting = dict[Operation, None](), list(readers.get(op, []))
    while waiting:
        reader = waiting.pop()
        if schedule[reader].attach_type == AttachType.INLINE:
            waiting += readers.get(reader, [])
        else:
            stored[reader] = None
    return list(stored)
