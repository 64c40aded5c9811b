"""The schedule of a kernel: what its hardest operator says, else the usual one for its pattern."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.relay.expr import Call
from compiler.relay.operator import OpPattern, operator_of
from compiler.target.target import Target
from compiler.te.schedule import Schedule
from compiler.te.tensor import Tensor
from compiler.topi.schedules import schedule_rule_for


def schedule_group(calls: Sequence[tuple[Call, list[Tensor]]], outputs: Sequence[Tensor], target: Target) -> Schedule:
    """Return the schedule of a fused group.

    Parameters
    ----------
    calls : sequence of (Call, list of Tensor)
        The group's operators and what they compute, in order of evaluation.
    outputs : sequence of Tensor
        What the kernel writes.
    target : Target
        What it is scheduled for.

    Returns
    -------
    Schedule
    """
    hardest = max((call for call, _ in calls), key=lambda call: operator_of(call).pattern, default=None)
    if hardest is None:
        return schedule_rule_for(OpPattern.INJECTIVE)(outputs, target)
    op = operator_of(hardest)
    if op.schedule is not None:
        return op.schedule(hardest.attrs, list(outputs), target)
    return schedule_rule_for(op.pattern)(outputs, target)
