"""Schedules: how the operations of a computation are executed together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, overload

from compiler.ir.error import ArgumentError, ScheduleError, show
from compiler.ir.expr.primexpr import IterVar
from compiler.ir.extension import public_module
from compiler.ir.instrument import active_instruments
from compiler.ir.serialization.json_format import load_json, save_json
from compiler.te.definition.scan import warn_of_reads_outside
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling import cache, replay
from compiler.te.scheduling.cache import Readers, Tensors
from compiler.te.scheduling.group import Group, common_group, enclosing_groups, operations_between
from compiler.te.scheduling.normalize import normalize
from compiler.te.scheduling.primitives import Primitive, primitive
from compiler.te.scheduling.rfactor import factor_reduction
from compiler.te.scheduling.stage import AttachType, Stage
from compiler.te.scheduling.state import ScheduleState

__all__ = ["Schedule", "create_schedule"]


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


class Schedule(ScheduleState):
    """How some operations and everything they depend on are computed; made by :func:`create_schedule`.

    Attributes
    ----------
    outputs : list of Operation
        What is computed, as the user defined it.
    stages : list of Stage
        One for each operation, each after those that it reads.
    primitives : list of Primitive
        The calls that shaped the schedule, in order.
    schedule_record : list of Schedule
        Its state at first and after each primitive, in a context with the option ``te.keep_schedule_record``; a
        primitive that is made of others, such as ``tile``, is kept as these.
    primitive_record : list of str
        The names of these primitives, ``vanilla`` first.
    """

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return load_json, (save_json(self),)

    def record(self, primitive: Primitive) -> None:
        """Record an applied primitive, and notify the instruments."""
        self.primitives.append(primitive)
        for instrument in active_instruments():
            instrument.primitive_applied(self, primitive)

    def normalize(self) -> Schedule:
        """Return the normalised schedule, which is the one to lower.

        It has no inlined stages, and every loop counts from zero.  A stage that is computed in an inlined one, or at a
        loop that a later primitive replaced, is refused.
        """
        return normalize(self)

    def replay(self, count: int) -> tuple[Schedule, Callable[[Tensor], Tensor]]:
        """Return a fresh schedule of the same outputs with the first ``count`` primitives, and a map of tensors.

        It has stages of its own; the operations that the user defined are shared.  The map leads from a tensor of this
        schedule to the corresponding one there; a tensor that a later primitive makes is a ScheduleError.
        """
        new = Schedule(self.outputs)
        return new, replay.replay_onto(new, self.primitives[:count])

    @primitive
    def cache_read(self, tensor: Tensor, scope: str, readers: Readers) -> Tensor:
        """Insert a stage that copies a tensor, for some of its readers to read instead; returns the copy.

        ::

            for i in range(8):                            for ax0 in range(8):
                B[i] = A[i] + 1.0         →                   A_local[ax0] = A[ax0]
                                                          for i in range(8):
                                                              B[i] = A_local[i] + 1.0

        Raises ArgumentError if ``tensor`` is not a tensor, ``scope`` no string, or ``readers`` empty. Raises
        ScheduleError if one of the readers does not read ``tensor``.
        """
        return cache.cache_read(self, tensor, scope, readers)

    @overload
    def cache_write(self, tensor: Tensor, scope: str) -> Tensor: ...

    @overload
    def cache_write(self, tensor: list[Tensor] | tuple[Tensor, ...], scope: str) -> list[Tensor]: ...

    @primitive
    def cache_write(self, tensor: Tensors, scope: str) -> Tensor | list[Tensor]:
        """Compute a tensor into a cache stage, from which the tensor itself is copied; returns what is computed.

        Loops that were made before become the dimensions of the buffer: a change of layout.  ::

            for i in range(8):                            for i_c in range(8):
                B[i] = A[i] + 1.0         →                   B_local[i_c] = A[i_c] + 1.0
                                                          for i in range(8):
                                                              B[i] = B_local[i]

        Raises ArgumentError if ``tensor`` is not a tensor and no list of them, or ``scope`` no string. Raises
        ScheduleError if it is a placeholder, not all outputs of its operation are given, or there is such a cache
        already.
        """
        return cache.cache_write(self, tensor, scope)

    @primitive
    def create_group(self, outputs: Tensors, inputs: Tensors, include_inputs: bool = False) -> Group:
        """Group the stages between some tensors, those of the inputs or not, to attach them together.

        ::

            g = s.create_group(outputs=y, inputs=a)       for i in range(8):
            g.compute_at(s[z], z.op.axis[0])      →           x[0] = a[i] + 1.0
                                                              y[0] = x[0] * 2.0
                                                              z[i] = y[0]

        ``compute_at`` places all stages of it that have no place of their own.  A group may not cut through another
        one.
        """
        return make_group(self, _listed(outputs), _listed(inputs), include_inputs)

    @primitive
    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Tensor | list[Tensor]:
        """Factor a reduction: over all other axes for each value of ``axis``, then over ``axis``.

        Both stages have plain loops afterwards.  The idea is that of Suriana, Adams and Kamil, "Parallel associative
        reductions in Halide" (CGO 2017).  ::

            B[0] = 0.0                                    for k_inner in range(4):
            for k_outer in range(16):                         B_rf[k_inner] = 0.0
                for k_inner in range(4):  →                   for k_outer in range(16):
                    B[0] = B[0] + A[…]                            B_rf[k_inner] = B_rf[k_inner] + A[…]
                                                          B[0] = 0.0
                                                          for k_inner_v in range(4):
                                                              B[0] = B[0] + B_rf[k_inner_v]

        Raises ArgumentError if ``tensor`` is not a tensor, or ``factor_axis`` no position of a dimension. Raises
        ScheduleError if ``tensor`` is not a reduction, or ``axis`` is not one of its reduction loops.

        Parameters
        ----------
        axis : IterVar
            One of its reduction loops; it becomes a dimension of the partial results.
        factor_axis : int
            The position of that dimension; negative ones count from the end.

        Returns
        -------
        Tensor or list of Tensor
            The partial results, one tensor for each output of the reduction.
        """
        return factor_reduction(self, tensor, axis, factor_axis)


def _listed(tensors: Tensors) -> list[Tensor]:
    listed = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    for t in listed:
        if not isinstance(t, Tensor):
            raise ArgumentError(f"create_group: expected tensors, got {show(t)}")
    return listed


def create_schedule(ops: Operation | list[Operation] | tuple[Operation, ...]) -> Schedule:
    """Create the schedule of one or several operations, in which every operation is computed by plain loops.

    It has one stage for each operation that the outputs depend on. Raises ArgumentError if ``ops`` contains something
    else than operations.

    Warns
    -----
    BoundsWarning
        If a computation is certain to read elements outside of a tensor: they are zero.
    """
    outputs = list(ops) if isinstance(ops, (list, tuple)) else [ops]
    for op in outputs:
        if isinstance(op, Tensor):
            raise ArgumentError(f"create_schedule: ops must be operations, got tensor {op.name!r}; pass {op.name}.op")
        if not isinstance(op, Operation):
            raise ArgumentError(f"create_schedule: ops must be operations, such as C.op, got {show(op)}")
    schedule = Schedule(outputs)
    schedule.keep_record("vanilla", 0)
    warn_of_reads_outside([stage.op for stage in schedule.stages])
    for instrument in active_instruments():
        instrument.schedule_created(schedule)
    return schedule


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.te.schedule", __all__)
