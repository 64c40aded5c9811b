"""Fused groups and their anchor, the computation that the schedule is built around.

The anchor is found by its tag in the graph of tensors, before there is a schedule; :func:`tiled_group` then makes the
one schedule, keeps the anchor's tile in registers and inlines the steps around it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from compiler import te
from compiler.ir.error import ArgumentError
from compiler.te.definition.dataflow import post_dfs_order
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Operation, Tensor
from compiler.topi.schedules.kit import extent, vectorize_elements

_OUTPUT_LANES = 16
"""Lanes of further outputs that are computed from what is stored."""


@dataclass(frozen=True, slots=True)
class Group:
    """The schedule of a fused group whose anchor, as its definition declared it, is ready to be tiled.

    The tile is computed at ``result``, which is stored in memory and has the axes of the anchor.
    """

    schedule: te.Schedule
    anchor: ComputeOp
    tile: Tensor
    result: Tensor

    @property
    def computations(self) -> list[ComputeOp]:
        """The computations of the schedule in order, also those that are inlined."""
        return [stage.op for stage in self.schedule.stages if isinstance(stage.op, ComputeOp)]


def output_operations(outputs: Sequence[Tensor]) -> list[Operation]:
    """Return the operations of tensors, each once."""
    return list(dict.fromkeys(t.op for t in outputs))


def find_anchor(outputs: Sequence[Tensor], tags: Collection[str], schedule_name: str) -> ComputeOp:
    """Return the first computation with one of the tags among all that tensors are made of."""
    operations = post_dfs_order(output_operations(outputs))
    for op in operations:
        if isinstance(op, ComputeOp) and op.tag in tags:
            return op
    given = ", ".join(f"{op.name} ({op.tag!r})" for op in operations if isinstance(op, ComputeOp)) or "none"
    expected = ", ".join(map(repr, tags))
    raise ArgumentError(f"{schedule_name}: expected a computation tagged {expected}, got {given}")


def _in_vectors(stage: te.Stage) -> None:
    vectorize_elements(stage, _OUTPUT_LANES)


def tiled_group(
    outputs: Sequence[Tensor],
    anchor: ComputeOp,
    stored: Collection[str],
    may_be_cut: bool,
    elements: Callable[[te.Stage], None] = _in_vectors,
) -> Group:
    """Make the schedule of a group, with all steps inlined but its outputs, reductions and what is stored.

    An output with the axes of the anchor is the ``result`` of the group; else the anchor itself is, from a copy in
    registers. If ``may_be_cut``, the output may be smaller: tiles at its end are then stored with a condition.
    ``elements`` schedules the stage of a further output, which is computed from what is stored.
    """
    ops = output_operations(outputs)
    schedule = _inlined(ops, anchor, stored)
    main = anchor.output(0)
    if len(ops) == 1 and ops[0] is not anchor and _has_shape(ops[0].output(0), main, may_be_cut):
        schedule[main].set_scope("local")
        return Group(schedule, anchor, main, ops[0].output(0))
    tile = schedule.cache_write(main, "local")
    for op in ops:
        if op is not anchor:
            elements(schedule[op])
    return Group(schedule, anchor, tile, main)


def partial_sums_group(outputs: Sequence[Tensor], anchor: ComputeOp) -> Group:
    """Make the schedule of a group whose anchor computes partial sums, which the next step adds up.

    An output of the shape of the sums is the ``result``, else the sums themselves.
    """
    ops = output_operations(outputs)
    schedule = _inlined(ops, anchor, ())
    main = anchor.output(0)
    # Whatever else is an output reads the sums.
    sums = next(stage.op for stage in schedule.stages if main in stage.op.input_tensors)
    result = ops[0] if len(ops) == 1 and _has_shape(ops[0].output(0), sums.output(0), False) else sums
    schedule[result].compute_root()
    schedule[main].set_scope("local")
    for op in ops:
        if op is not result:
            vectorize_elements(schedule[op], _OUTPUT_LANES)
    return Group(schedule, anchor, main, result.output(0))


def _inlined(ops: Sequence[Operation], anchor: ComputeOp, stored: Collection[str]) -> te.Schedule:
    schedule = te.create_schedule(list(ops))
    for stage in list(schedule.stages):
        op = stage.op
        is_step = isinstance(op, ComputeOp) and not op.reduce_axis and op not in ops and op is not anchor
        if is_step and op.tag not in stored:
            stage.compute_inline()
    return schedule


def _has_shape(a: Tensor, b: Tensor, may_be_cut: bool) -> bool:
    """Return whether a tensor has the shape of another one; whether a smaller one counts, by ``may_be_cut``."""
    if len(a.shape) != len(b.shape):
        return False
    sizes = [(extent(x), extent(y)) for x, y in zip(a.op.axis, b.op.axis, strict=True)]
    return all(x is not None and y is not None and (x == y or (may_be_cut and x < y)) for x, y in sizes)
