"""Creates groups of stages, nested within existing groups."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.error import ScheduleError
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.group import Group, common_group, enclosing_groups, operations_between
from compiler.te.scheduling.stage import AttachType, Stage
from compiler.te.scheduling.state import ScheduleState


def make_group(
    schedule: ScheduleState, outputs: Sequence[Tensor], inputs: Sequence[Tensor], include_inputs: bool
) -> Group:
    """Put the stages between some tensors into a group of their own; see ``Schedule.create_group``."""
    ends, begins = ([schedule[t].op.output(t.value_index) for t in tensors] for tensors in (outputs, inputs))
    stages = [schedule[op] for op in operations_between(ends, begins, include_inputs)]
    if not stages:
        raise ScheduleError("create_group: there is no stage between the inputs and the outputs")
    outer = common_group(stages)
    group = Group(schedule, f"group{len(schedule.groups)}", outer, AttachType.ROOT)
    for member in _members(schedule, stages, outer):
        member.group = group
    for stage in stages:
        place = stage.attach_stage if stage.attach_type is AttachType.SCOPE else None
        if place is not None and group not in enclosing_groups(place):
            stage.compute_root()
    schedule.groups.append(group)
    return group


def _members(schedule: ScheduleState, stages: list[Stage], outer: Group | None) -> list[Stage | Group]:
    """Return the stages, and the groups that all of their stages are in, directly inside of ``outer``."""
    members: dict[Stage | Group, None] = {}
    for stage in stages:
        path: list[Stage | Group] = [stage, *enclosing_groups(stage)]
        members[path[path.index(outer) - 1] if outer is not None else path[-1]] = None
    chosen = set(map(id, stages))
    for stage in schedule.stages:
        for group in enclosing_groups(stage):
            if group in members and id(stage) not in chosen:
                raise ScheduleError(
                    f"create_group: stage {stage.op.name!r} of {group.name!r} would be outside, and other stages of "
                    "that inside of the new group"
                )
    return list(members)
