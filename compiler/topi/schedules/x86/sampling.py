"""CPU schedules of image resampling: source positions and weights are computed once for all channels."""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te
from compiler.target.target import Target
from compiler.te.definition.operation import ComputeOp
from compiler.topi.schedules.anchor import output_operations
from compiler.topi.schedules.kit import tile_lanes, vectorize_elements
from compiler.topi.tag import Tag


def schedule_resampling(attrs: object, outputs: Sequence[te.Tensor], target: Target) -> te.Schedule:
    """Return a schedule in which indices and weights are stored, as are reductions, and all other steps inlined."""
    ops = output_operations(outputs)
    schedule = te.create_schedule(ops)
    for stage in list(schedule.stages):
        op = stage.op
        if not isinstance(op, ComputeOp):
            continue
        if op in ops or op.tag == Tag.STAGED or op.reduce_axis:
            vectorize_elements(stage, tile_lanes(target, op.output(0).dtype))
        else:
            stage.compute_inline()
    return schedule
