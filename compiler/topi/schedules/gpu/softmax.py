"""GPU schedule of softmax: one block per row, with maximum and sum shared by its threads."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr.primexpr import IterVar
from compiler.target.target import Target
from compiler.te import ComputeOp, Schedule, Stage, create_schedule
from compiler.te.definition.axis import thread_axis
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import SoftmaxAxis
from compiler.topi.schedules.anchor import output_operations
from compiler.topi.schedules.gpu.kit import bind, block_threads, power_of_two
from compiler.topi.schedules.gpu.reduction import across_threads
from compiler.topi.schedules.kit import extent
from compiler.topi.tag import Tag

_MAX_SHARED_ROW = 1024
"""Powers that are kept in shared memory; longer rows compute each twice."""
_REDUCTIONS = (Tag.SOFTMAX_MAX, Tag.SOFTMAX_SUM)


def schedule_softmax(outputs: Sequence[Tensor], anchor: ComputeOp, target: Target) -> Schedule | None:
    """Return the schedule of a group around a softmax along the last axis.

    It is None if rows are along another axis, or the group stores more than the rows.
    """
    ops = output_operations(outputs)
    length = extent(anchor.axis[-1])
    is_row = SoftmaxAxis.of(anchor).axis == len(anchor.axis) - 1
    if len(ops) != 1 or not is_row or length is None or len(ops[0].axis) != len(anchor.axis):
        return None
    if extent(ops[0].axis[-1]) != length:
        return None
    schedule = create_schedule(ops)
    stages = {stage.op.tag: stage for stage in schedule.stages if isinstance(stage.op, ComputeOp)}
    own = [stages[tag] for tag in _REDUCTIONS]
    powers = stages.get(Tag.SOFTMAX_EXP)
    is_stored = powers is not None and length <= _MAX_SHARED_ROW
    for stage in schedule.stages:
        left = (*own, powers) if is_stored else own
        if isinstance(stage.op, ComputeOp) and stage.op is not ops[0] and stage not in left:
            if stage.op.reduce_axis:
                return None
            stage.compute_inline()
    _rows(
        schedule, schedule[ops[0]], own, powers if is_stored else None, power_of_two(min(length, block_threads(target)))
    )
    return schedule


def _rows(schedule: Schedule, result: Stage, reductions: list[Stage], powers: Stage | None, threads: int) -> None:
    """Compute each row by a block of so many threads."""
    *rows, column = result.op.axis
    block = result.fuse(*rows)
    bind(result, block, "blockIdx.x")
    _spread(result, column, threads)
    if powers is not None:
        powers.set_scope("shared")
        powers.compute_at(result, block)
        _spread(powers, powers.op.axis[-1], threads)
    for reduction in reductions:
        reduction.set_scope("shared")
        reduction.compute_at(result, block)
        across_threads(schedule, reduction, threads)


def _spread(stage: Stage, column: IterVar, threads: int) -> None:
    _, thread = stage.split(column, factor=threads)
    stage.bind(thread, thread_axis((0, threads), "threadIdx.x"))
