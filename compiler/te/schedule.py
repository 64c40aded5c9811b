"""Schedules: how the operations of a computation are carried out together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from compiler.ir.error import ArgumentError, ScheduleError, show, unknown_name
from compiler.ir.instrument import active_instruments
from compiler.ir.primexpr import IterVar
from compiler.te import cache, replay
from compiler.te.dataflow import post_dfs_order
from compiler.te.normalize import normalize
from compiler.te.operation import Operation
from compiler.te.primitives import Primitive, primitive
from compiler.te.rfactor import factor_reduction
from compiler.te.stage import Stage
from compiler.te.tensor import Tensor


class Schedule:
    """How some operations, and all that they depend on, are computed; made by :func:`create_schedule`.

    Attributes
    ----------
    outputs : list of Operation
        What is computed, as the user defined it.
    stages : list of Stage
        One for each operation, each after those that it reads.
    primitives : list of Primitive
        The calls that shaped the schedule, in order.
    """

    def __init__(self, outputs: Sequence[Operation]) -> None:
        self.outputs = list(outputs)
        self.primitives: list[Primitive] = []
        self.applying = False
        self.stages: list[Stage] = [Stage(self, op) for op in post_dfs_order(outputs)]
        self._stage_of: dict[Operation, Stage] = {stage.origin_op: stage for stage in self.stages}
        for op in self.outputs:
            self._stage_of[op].is_output = True

    @property
    def schedule(self) -> Schedule:
        """The schedule itself, as a stage has one."""
        return self

    def __getitem__(self, key: Any) -> Stage:
        """Return the stage of a tensor or an operation.

        Raises
        ------
        ScheduleError
            If the schedule has none.
        """
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

    def find(self, key: Any) -> Stage | None:
        """Return the stage of a tensor, an operation or itself, or None."""
        if isinstance(key, Stage):
            return key if key.schedule is self else None
        op = key.op if isinstance(key, Tensor) else key
        if not isinstance(op, Operation):
            return None
        return self._stage_of.get(op) or next((s for s in self.stages if s.op is op), None)

    def add_stage(self, at: int, op: Operation) -> Stage:
        """Insert a stage for a new operation."""
        stage = Stage(self, op)
        self.stages.insert(at, stage)
        self._stage_of[op] = stage
        return stage

    def copy(self) -> Schedule:
        """Return a schedule with stages of its own for the same operations."""
        new = Schedule.__new__(Schedule)
        new.outputs, new.primitives, new.applying = self.outputs[:], self.primitives[:], False
        pairs = {stage: stage.copy(new) for stage in self.stages}
        new.stages = list(pairs.values())
        new._stage_of = {stage.origin_op: stage for stage in new.stages}
        for stage in new.stages:
            stage.attach_stage = pairs[stage.attach_stage] if stage.attach_stage else None
        return new

    def checkpoint(self) -> Callable[[], None]:
        """Return what brings the stages back to how they are now."""
        saved = [(stage, stage.copy(self)) for stage in self.stages]

        def restore() -> None:
            self.stages = [stage for stage, _ in saved]
            for stage, copy in saved:
                stage.take(copy)
            self._stage_of = {stage.origin_op: stage for stage in self.stages}

        return restore

    def normalize(self) -> Schedule:
        """Return the schedule that is lowered: inlined, every loop counted from zero, places valid."""
        return normalize(self)

    def replay(self, count: int) -> tuple[Schedule, Callable[[Tensor], Tensor]]:
        """Return a fresh schedule of the same outputs with the first ``count`` primitives applied.

        Returns
        -------
        schedule : Schedule
        map_tensor : callable
            Takes a tensor of this schedule to the one that stands for it there.
        """
        new = Schedule(self.outputs)
        return new, replay.replay_onto(new, self.primitives[:count])

    @primitive
    def cache_read(self, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """Let some readers of a tensor read a copy of it, which is a stage of its own.

        ::

            for i in range(8):                            for ax0 in range(8):
                B[i] = A[i] + 1.0         →                   A_local[ax0] = A[ax0]
                                                          for i in range(8):
                                                              B[i] = A_local[i] + 1.0

        Parameters
        ----------
        tensor : Tensor
        scope : str
            Storage scope of the copy, e.g. ``local``.
        readers : Tensor, Operation or a list of them

        Returns
        -------
        Tensor
            The copy.
        """
        return cache.cache_read(self, tensor, scope, readers)

    @primitive
    def cache_write(self, tensor: Any, scope: str) -> Any:
        """Compute a tensor into a buffer of its own, from which the tensor itself is copied.

        Loops that were made before become the dimensions of the buffer: a change of layout.  ::

            for i in range(8):                            for i_c in range(8):
                B[i] = A[i] + 1.0         →                   B_local[i_c] = A[i_c] + 1.0
                                                          for i in range(8):
                                                              B[i] = B_local[i]

        Parameters
        ----------
        tensor : Tensor or list of Tensor
            All outputs of one operation.
        scope : str
            Storage scope of the buffer, e.g. ``local``.

        Returns
        -------
        Tensor or list of Tensor
            What is computed; the operation of ``tensor`` copies it.
        """
        return cache.cache_write(self, tensor, scope)

    @primitive
    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> Any:
        """Reduce in two steps: over all other axes for each value of ``axis``, then over ``axis``.

        Both stages have plain loops afterwards.  ::

            B[0] = 0.0                                    for k_inner in range(4):
            for k_outer in range(16):                         B_rf[k_inner] = 0.0
                for k_inner in range(4):  →                   for k_outer in range(16):
                    B[0] = B[0] + A[…]                            B_rf[k_inner] = B_rf[k_inner] + A[…]
                                                          B[0] = 0.0
                                                          for k_inner_v in range(4):
                                                              B[0] = B[0] + B_rf[k_inner_v]

        Parameters
        ----------
        tensor : Tensor
            A reduction.
        axis : IterVar
            One of its reduction loops; it becomes a dimension of the partial results.
        factor_axis : int
            The position of that dimension; negative ones count from the end.

        Returns
        -------
        Tensor or list of Tensor
            The partial results.
        """
        return factor_reduction(self, tensor, axis, factor_axis)


def create_schedule(ops: Any) -> Schedule:
    """Create the schedule of one or several operations, in which every operation is computed by plain loops.

    Parameters
    ----------
    ops : Operation or list of Operation
        The outputs, e.g. ``C.op``.
    """
    outputs = list(ops) if isinstance(ops, (list, tuple)) else [ops]
    if not outputs:
        raise ArgumentError("create_schedule: ops must not be empty")
    for op in outputs:
        if isinstance(op, Tensor):
            raise ArgumentError(f"create_schedule: ops must be operations, got tensor {op.name!r}; pass {op.name}.op")
        if not isinstance(op, Operation):
            raise ArgumentError(f"create_schedule: ops must be operations, such as C.op, got {show(op)}")
    schedule = Schedule(outputs)
    for instrument in active_instruments():
        instrument.schedule_created(schedule)
    return schedule
