"""The state of a schedule: its stages in topological order, and the primitives applied to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from compiler.ir.error import ArgumentError, ScheduleError, show, unknown_name
from compiler.ir.expr.primexpr import IterVar
from compiler.ir.passes.context import PassContext, register_config_option
from compiler.te.definition.dataflow import post_dfs_order
from compiler.te.definition.scan import ScanOp, scan_body
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.group import Group, common_group
from compiler.te.scheduling.primitives import Primitive, RecordedStage
from compiler.te.scheduling.stage import AttachType, Stage

register_config_option("te.keep_schedule_record", (bool, int))


class ScheduleState:
    """The stages of some operations and of all that they depend on."""

    def __init__(self, outputs: Sequence[Operation]) -> None:
        self.outputs = list(outputs)
        self.primitives: list[Primitive] = []
        # its state at first and after each primitive, where the context asks for it
        self.schedule_record: list[ScheduleState] = []
        self.primitive_record: list[str] = []  # the names of these primitives, ``vanilla`` first
        self.applying = False  # whether a primitive is being carried out; the primitives that it calls are not recorded
        self.groups: list[Group] = []
        # one for each operation, each after those that it reads
        self.stages: list[Stage] = [Stage(self, op) for op in post_dfs_order(outputs)]
        self._stage_of: dict[Operation, Stage] = {stage.origin_op: stage for stage in self.stages}
        for op in self.outputs:
            self._stage_of[op].is_output = True
        self.place_scan_bodies()

    @property
    def schedule(self) -> Self:
        """Itself; a stage has its schedule under this name as well."""
        return self

    def __getitem__(self, key: Tensor | Operation | Stage) -> Stage:
        """Return the stage of a tensor or an operation."""
        stage = self.find(key)
        if stage is None:
            if not isinstance(key, (Tensor, Operation)):
                raise ArgumentError(f"schedule: expected a tensor or an operation, as in s[C], got {show(key)}")
            names = ", ".join(s.op.name for s in self.stages)
            raise ScheduleError(f"schedule: {key.name!r} is not computed by this schedule, whose stages are {names}")
        return stage

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise unknown_name("schedule", name, (n for n in dir(type(self)) if not n.startswith("_")))

    def find(self, key: object) -> Stage | None:
        """Return the stage of a tensor, an operation or itself, or None."""
        if isinstance(key, Stage):
            return key if key.schedule is self else None
        op = key.op if isinstance(key, Tensor) else key
        if not isinstance(op, Operation):
            return None
        return self._stage_of.get(op) or next((s for s in self.stages if s.op is op), None)

    def index_of(self, target: RecordedStage) -> int:
        """Return the number of a stage, or -1, -2, … for the groups."""
        if isinstance(target, Group):
            return -1 - self.groups.index(target)
        assert isinstance(target, Stage)
        return self.stages.index(target)

    def target_at(self, index: int) -> Stage | Group:
        """Return the stage or the group that has a number of :meth:`index_of`."""
        return self.stages[index] if index >= 0 else self.groups[-1 - index]

    def add_stage(self, at: int, op: Operation, near: Iterable[Stage] = ()) -> Stage:
        """Insert a stage for a new operation, in the innermost group that the stages ``near`` it share."""
        stage = Stage(self, op)
        stage.group = common_group(near)
        self.stages.insert(at, stage)
        self._stage_of[op] = stage
        self.place_scan_bodies()
        return stage

    def place_scan_bodies(self) -> None:
        """Compute what a step of a scan carries out, and has no other place, in the loop of the steps."""
        for scan in self.stages:
            if isinstance(scan.op, ScanOp):
                group = self._group_of_steps(scan, scan.op.scan_axis)
                for op in scan_body(scan.op):
                    stage = self[op]
                    if stage.group is None:
                        stage.group = group
                    if stage.attach_type is AttachType.ROOT:
                        stage.place_in_step(scan, scan.op.scan_axis)

    def _group_of_steps(self, scan: Stage, steps: IterVar) -> Group:
        for group in self.groups:
            if group.attach_type is AttachType.SCAN_UPDATE and group.attach_stage is scan:
                return group
        group = Group(self, f"{scan.op.name}.step", scan.group, AttachType.SCAN_UPDATE)
        group.attach_stage, group.attach_ivar = scan, steps
        self.groups.append(group)
        return group

    def copy(self) -> Self:
        """Return a schedule with stages of its own for the same operations."""
        new = type(self).__new__(type(self))
        new.outputs, new.primitives, new.applying = self.outputs[:], self.primitives[:], False
        new.schedule_record, new.primitive_record = [], []
        pairs = {stage: stage.copy(new) for stage in self.stages}
        new.stages = list(pairs.values())
        new._stage_of = {stage.origin_op: stage for stage in new.stages}
        groups = {group: Group(new, group.name, group.group, group.attach_type) for group in self.groups}
        new.groups = list(groups.values())
        for stage in new.stages:
            stage.attach_stage = pairs[stage.attach_stage] if stage.attach_stage else None
            stage.group = groups[stage.group] if stage.group else None
        for old, group in groups.items():
            group.group = groups[old.group] if old.group else None
            group.attach_stage = pairs[old.attach_stage] if old.attach_stage else None
            group.attach_ivar = old.attach_ivar
        return new

    def record(self, primitive: Primitive) -> None:
        """Add a primitive that was applied."""
        self.primitives.append(primitive)

    def keep_record(self, name: str, kept_before: int) -> None:
        """Keep the state after a primitive, if the option ``te.keep_schedule_record`` asks for it.

        Where those that it called were kept since ``kept_before``, the number when it began, itself is not.
        """
        if len(self.primitive_record) == kept_before and PassContext.current().config.get("te.keep_schedule_record"):
            self.schedule_record.append(self.copy())
            self.primitive_record.append(name)

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that brings all stages and groups back to how they are now."""
        stages, groups = self.stages[:], self.groups[:]
        restore_each = [member.checkpoint() for member in (*groups, *stages)]

        def restore() -> None:
            self.groups, self.stages = groups, stages
            for restore_member in restore_each:
                restore_member()
            self._stage_of = {stage.origin_op: stage for stage in self.stages}

        return restore
