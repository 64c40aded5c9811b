"""Chooses the schedule of a kernel: that of its anchor operator, or the default for its pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from compiler.relay.expr import Call
from compiler.relay.implementations import ScheduleMaker, configuration_of
from compiler.relay.operator import OpPattern, operator_of
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule
from compiler.topi.schedules import gpu, schedule_rule_for
from compiler.topi.schedules.choice import chosen_by


def schedule_group(
    calls: Sequence[Call], outputs: Sequence[Tensor], target: Target, schedules: Mapping[Call, ScheduleMaker]
) -> Schedule:
    """Return the schedule of a fused group."""
    hardest = max(calls, key=lambda call: operator_of(call).pattern, default=None)
    if hardest is None:
        return schedule_rule_for(OpPattern.INJECTIVE)(outputs, target)
    if hardest in schedules:
        return schedules[hardest](hardest.attrs, list(outputs), target)
    if "gpu" in target.keys:
        return gpu.schedule_group(outputs, target)
    op = operator_of(hardest)
    if op.schedule is not None:
        with chosen_by(partial(configuration_of, hardest, target)):
            return op.schedule(hardest.attrs, list(outputs), target)
    return schedule_rule_for(op.pattern)(outputs, target)
