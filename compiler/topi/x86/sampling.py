"""Schedules of images at other places: which elements count, and how much, is computed once for all channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler import te
from compiler.te.operation import ComputeOp
from compiler.topi.nn.resize import STAGED
from compiler.topi.x86.common import lanes, simple


def schedule_sampled(attrs: Any, outputs: Sequence[Any], target: Any) -> Any:
    """Return a schedule in which the steps that are tagged so are kept, and all others inlined."""
    ops = list(dict.fromkeys(t.op for t in outputs))
    schedule = te.create_schedule(ops)
    for stage in list(schedule.stages):
        op = stage.op
        if not isinstance(op, ComputeOp):
            continue
        if op in ops or op.tag == STAGED or op.reduce_axis:
            simple(stage, lanes(target, op.output(0).dtype))
        else:
            stage.compute_inline()
    return schedule
