"""The schedule of a kernel: what its hardest operator says, else the usual one for its pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.relay.operator import OpPattern
from compiler.target.target import Target
from compiler.topi.schedules import schedule_rule_for


def schedule_group(calls: Sequence[tuple[Any, list[Any]]], outputs: Sequence[Any], target: Target) -> Any:
    """Return the schedule of a fused group.

    Parameters
    ----------
    calls : sequence of (Call, list of Tensor)
        The group's operators and what they compute, in order of evaluation.
    outputs : sequence of Tensor
    target : Target
    """
    hardest = max((call for call, _ in calls), key=lambda call: call.op.pattern, default=None)
    if hardest is None:
        return schedule_rule_for(OpPattern.INJECTIVE)(outputs, target)
    if hardest.op.schedule is not None:
        return hardest.op.schedule(hardest.attrs, list(outputs), target)
    return schedule_rule_for(hardest.op.pattern)(outputs, target)
