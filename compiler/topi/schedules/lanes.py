"""Reductions of neighbours in memory: a partial result in each lane of some vectors, then these in pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler import te
from compiler.ir.expr.primexpr import IterVar, ProducerLoad, Reduce
from compiler.ir.expr.substitute import free_vars
from compiler.ir.functor import nodes_of
from compiler.te.definition.operation import ComputeOp
from compiler.topi.operands import dims
from compiler.topi.schedules.kit import MIN_LANES, extent, is_worth_parallel, parallel

_MIN_STEPS_OF_TUPLES = 8
"""Steps over a row that are worth the comparisons of the lanes' results, of which tuples take many."""
_VECTORS = 4
"""Vectors of partial results, so that the next addition need not wait for the last one."""
_MIN_STEPS, _MIN_STEPS_ALONE = 8, 2
"""Steps of so many vectors that are worth a last one of fewer; alone, a reduction has registers for that."""


def contiguous_axes(op: ComputeOp) -> list[IterVar]:
    """Return the last axes of a reduction that together go over neighbours in memory in all that it reads along them.

    What is the same for all of a sum, such as the mean of a row, may lie anywhere.
    """
    reduction = op.body[0]
    if not isinstance(reduction, Reduce):
        return []
    reduced = {axis.var for axis in op.reduce_axis}
    every = nodes_of(reduction.source, ProducerLoad)
    read = [load for load in every if any(not reduced.isdisjoint(free_vars(index)) for index in load.indices)]
    if any(load.indices[-1] is axis.var for load in read for axis in op.axis):
        return []
    found: list[IterVar] = []
    for axis in reversed(op.reduce_axis):
        if not read or not all(_ends_with(load, [axis, *found]) for load in read):
            break
        found = [axis, *found]
    return found


def _ends_with(load: ProducerLoad, axes: Sequence[IterVar]) -> bool:
    """Return whether the last indices of an access are some axes, all but the first of which pass over a dimension."""
    if [*load.indices[-len(axes) :]] != [axis.var for axis in axes]:
        return False
    return dims(load.producer)[-len(axes) + 1 :] == tuple(map(extent, axes[1:])) if len(axes) > 1 else True


def partial_results(schedule: te.Schedule, stage: te.Stage, lanes: int, is_alone: bool = False) -> te.Stage | None:
    """Let a reduction of neighbours be one over partial results; return the stage of these, None if it is too short.

    One that ``is_alone`` is in a loop without any other.
    """
    op = stage.op
    assert isinstance(op, ComputeOp)
    contiguous = contiguous_axes(op)
    size = math.prod(extent(axis) or 0 for axis in contiguous)
    width = _width(size, lanes, is_tuple := len(op.body) > 1, is_alone)
    if not size or width < MIN_LANES or size // width < (_MIN_STEPS_OF_TUPLES if is_tuple else 2):
        return None
    last = stage.fuse(*contiguous) if len(contiguous) > 1 else contiguous[0]
    _, lane = stage.split(last, factor=width)
    factored = schedule.rfactor(stage.op.output(0), lane, factor_axis=-1)
    partial = schedule[factored[0] if isinstance(factored, list) else factored]
    own = list(partial.op.axis)
    partial.reorder(*own[:-1], *partial.op.reduce_axis, own[-1])
    partial.vectorize(own[-1])
    stage.pragma(stage.op.reduce_axis[-1], "pairwise")
    return partial


def _width(size: int, lanes: int, is_tuple: bool, is_alone: bool) -> int:
    many = _VECTORS * lanes
    least = (_MIN_STEPS_ALONE if is_alone else _MIN_STEPS) * many
    if not is_tuple and size > many and (size % many == 0 or size >= least):
        return many
    while size < 2 * lanes:
        lanes //= 2
    return lanes  # the last of many steps has fewer


def in_lanes(schedule: te.Schedule, stage: te.Stage, lanes: int) -> None:
    """Reduce neighbours in lanes, results on several cores."""
    axes = list(stage.op.axis)
    partial = partial_results(schedule, stage, lanes, is_alone=True)
    if partial is None:
        if is_worth_parallel(stage.op):
            parallel(stage, axes)
    elif axes:
        _fuse_around(stage, partial)


def _fuse_around(stage: te.Stage, partial: te.Stage) -> None:
    """Compute partial results inside of the loops over the result, as one loop on several cores."""
    axes = list(stage.op.axis)
    if None in [extent(a) for a in axes]:
        partial.compute_at(stage, axes[-1])
        return
    fused = axes[0] if len(axes) == 1 else stage.fuse(*axes)
    partial.compute_at(stage, fused)
    if is_worth_parallel(partial.op):
        stage.parallel(fused)
