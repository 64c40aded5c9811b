"""Groups: the stages between given tensors, attached together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from compiler.ir.error import ArgumentError, ScheduleError, show
from compiler.ir.expr.primexpr import IterVar
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.primitives import RecordedStage, primitive

if TYPE_CHECKING:
    from compiler.te.scheduling.stage import Stage
    from compiler.te.scheduling.stage_state import AttachType
    from compiler.te.scheduling.state import ScheduleState


class Group(RecordedStage):
    """Stages that are computed at one place; made by ``Schedule.create_group``, and for the steps of each scan.

    At ``attach_ivar`` its stages are computed that have no place of their own.
    """

    schedule: ScheduleState

    def __init__(self, schedule: ScheduleState, name: str, group: Group | None, attach_type: AttachType) -> None:
        self.schedule = schedule
        self.name = name
        self.group = group
        self.attach_type = attach_type
        self.attach_stage: Stage | None = None
        self.attach_ivar: IterVar | None = None

    @property
    def label(self) -> str:
        """What it is called in records."""
        return self.name

    @property
    def num_child_stages(self) -> int:
        """How many stages and groups are directly in it."""
        members: list[Stage | Group] = [*self.schedule.stages, *self.schedule.groups]
        return sum(member.group is self for member in members)

    @primitive
    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute the stages of the group inside a loop of a stage that reads them."""
        if not isinstance(parent, RecordedStage) or isinstance(parent, Group):
            raise ArgumentError(f"compute_at: parent must be a stage, such as s[C], got {show(parent)} ({self})")
        parent.require_leaf("compute_at", scope)
        require_same_group(self, parent)
        if self in enclosing_groups(parent):
            raise ScheduleError(f"compute_at: stage {parent.op.name!r} is in {self.name!r} itself")
        self.attach_type = type(self.attach_type).SCOPE
        self.attach_stage, self.attach_ivar = parent, scope

    @primitive
    def compute_root(self) -> None:
        """Compute the stages of the group where the group around it is computed: undo ``compute_at``."""
        self.attach_type = type(self.attach_type).ROOT
        self.attach_stage = self.attach_ivar = None

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that brings the group back to how it is now."""
        outer, attach_type, stage, axis = self.group, self.attach_type, self.attach_stage, self.attach_ivar

        def restore() -> None:
            self.group, self.attach_type, self.attach_stage, self.attach_ivar = outer, attach_type, stage, axis

        return restore

    def __repr__(self) -> str:
        return f"group({self.name})"


def enclosing_groups(member: Stage | Group) -> list[Group]:
    """Return the groups that a stage or a group is in, the innermost first."""
    groups = []
    group = member.group
    while group is not None:
        groups.append(group)
        group = group.group
    return groups


def common_group(members: Iterable[Stage | Group]) -> Group | None:
    """Return the innermost group that all are in, or None if there is none."""
    paths = [enclosing_groups(member) for member in members]
    return next((g for g in paths[0] if all(g in path for path in paths)), None) if paths else None


def require_same_group(member: Stage | Group, parent: Stage) -> None:
    """Reject a place outside of the group that a stage or a group is in."""
    if member.group is not None and member.group not in enclosing_groups(parent):
        raise ScheduleError(
            f"compute_at: {member.label!r} is in {member.group.name!r}, and must be computed at a stage of that, which "
            f"{parent.op.name!r} is not"
        )


def operations_between(outputs: Sequence[Tensor], inputs: Sequence[Tensor], include_inputs: bool) -> list[Operation]:
    """Return the operations on the paths from some tensors to others."""
    begins = {t.op for t in inputs}
    reaches: dict[Operation, bool] = {}
    todo = [(t.op, False) for t in outputs]
    while todo:
        op, ready = todo.pop()
        if op in reaches:
            continue
        if op in begins or ready:
            reaches[op] = op in begins or any(reaches[t.op] for t in op.input_tensors)
        else:
            todo.append((op, True))
            todo += [(t.op, False) for t in op.input_tensors]
    return [op for op, reached in reaches.items() if reached and (include_inputs or op not in begins)]
