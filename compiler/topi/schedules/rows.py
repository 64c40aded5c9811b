"""Schedule of groups that reduce the rows of their result, such as softmax and layer norm: a pair of rows at a time.

What the rows need is computed right before them, and stays in the first cache.  Vectors of both are computed side by
side, so that what is the same for all rows, such as a bias, is loaded once::

    for i, k: total[i] += x[i, k]                        for i.0, in parallel:
    for i, j: y[i, j] = x[i, j] / total[i]       →           for i.1: for k: total[i.1] += x[i, k]
                                                             for j.0: for i.1: for j.1, a vector: y[i, j] = …
"""

from __future__ import annotations

import math
from collections.abc import Collection

from compiler import te
from compiler.ir.expr.primexpr import ProducerLoad
from compiler.ir.functor import nodes_of
from compiler.target.target import Target
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Operation
from compiler.topi.operands import dims
from compiler.topi.schedules.kit import extent, is_worth_parallel, vectorize_elements, vectors_at_once
from compiler.topi.schedules.lanes import contiguous_axes, partial_results

_TOGETHER = 2
"""Rows at a time: what one of them waits for, the other need not."""
_LOADED_FIRST = 2
"""Vectors of the result that are loaded before they are stored."""
_MIN_PAIRED = 16
"""Pairs of fewer rows leave cores without work."""


def schedule_rows(schedule: te.Schedule, stored: Collection[Operation], machine: Target) -> bool:
    """Schedule a group with one result and reductions of its rows alone; return False, and change nothing, of others.

    What is computed and not ``stored`` is inlined.
    """
    result, *others = schedule.outputs
    kept = [stage for stage in schedule.stages if stage.op in stored and stage.op is not result]
    reductions = [op for stage in kept if isinstance(op := stage.op, ComputeOp) and op.reduce_axis]
    if others or not isinstance(result, ComputeOp) or not reductions or not all(map(contiguous_axes, reductions)):
        return False
    depth = len(reductions[0].axis)
    is_single = is_worth_parallel(result) and all(extent(axis) == 1 for axis in result.axis[:depth])
    if not _are_of_rows(schedule, {stage.op for stage in kept}, result, depth) or is_single:  # work for several cores
        return False
    last = schedule[result]
    axes = list(result.axis[:depth])
    lanes = machine.vector_width(result.output(0).dtype)
    at_once = max(vectors_at_once(result, stored), _LOADED_FIRST)
    vectorize_elements(last, lanes, on_cores=False, at_once=at_once)
    rows = last.fuse(*axes) if depth > 1 else axes[0]
    count, neighbours = math.prod(extent(axis) or _MIN_PAIRED for axis in axes), extent(axes[-1])
    # where pairs divide no neighbours, some would have different outer indices
    if count >= _MIN_PAIRED and neighbours is not None and neighbours % _TOGETHER == 0:
        rows, together = last.split(rows, factor=_TOGETHER)
        last.reorder(*last.leaf_iter_vars[2:-1], together)  # right outside of the vectors
        last.unroll(together)
    if is_worth_parallel(result):
        last.parallel(rows)
    for stage in kept:
        lanes = machine.vector_width(stage.op.output(0).dtype)
        stage.compute_at(last, rows)
        if not stage.op.reduce_axis:
            if len(stage.op.axis) > depth:
                vectorize_elements(stage, lanes, on_cores=False, at_once=vectors_at_once(stage.op, stored))
        elif (partial := partial_results(schedule, stage, lanes)) is not None:
            partial.compute_at(stage, stage.op.axis[-1])
    return True


def _are_of_rows(schedule: te.Schedule, kept: Collection[Operation], result: ComputeOp, depth: int) -> bool:
    """Return whether all that the result's row is computed from is of the same row.

    A row is what has the same first ``depth`` indices.
    """
    if result.reduce_axis or not 0 < depth < len(result.axis):
        return False
    rows, of_rows = dims(result.output(0))[:depth], set(kept)
    for stage in schedule.stages:  # each after those that it reads
        op = stage.op
        if not isinstance(op, ComputeOp):
            continue
        read = [load for load in nodes_of(op.body, ProducerLoad) if load.producer.op in of_rows]
        if read:
            of_rows.add(op)
        if op in of_rows and dims(op.output(0))[:depth] != rows:
            return False
        if any([*load.indices[:depth]] != [axis.var for axis in op.axis[:depth]] for load in read):
            return False
    return True
