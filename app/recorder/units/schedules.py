"""Recorded schedules of a script, with the primitives applied to them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.recorder.scripts.frames import current_line
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir.error import TVMError
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.target.target import Target
from compiler.te.definition.operation import PlaceholderOp
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.schedule.schedule import Schedule as TIRSchedule
from compiler.tir.schedule.step import ScheduleStep
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For

MAX_REFUSED = 40
"""Refused primitives of a schedule that are shown, the last ones: a script may try many."""

Source = Schedule | PrimFunc | IRModule
"""What a function is lowered from."""


@dataclass(frozen=True, slots=True)
class PrimitiveRecord:
    """A primitive that was applied, or refused."""

    name: str
    label: str
    """The call with its result."""
    line: int | None
    module: IRModule | None = None
    """The program with blocks after it; None for tensor expressions, which are not a program until they are lowered."""
    error: TVMError | None = None
    """Why it was refused."""
    loops: Sequence[For] = ()
    """The loops of a program with blocks among its arguments, as they are before it."""


class ScheduleRecord(ABC):
    """A schedule, and what was done to it.

    Attributes
    ----------
    line : int or None
        The script's line that made it.
    is_copy : bool
        Whether it began as a copy of another schedule.
    """

    def __init__(self, is_copy: bool = False) -> None:
        self.line = current_line()
        self.is_copy = is_copy

    @property
    @abstractmethod
    def primitives(self) -> Sequence[PrimitiveRecord]:
        """The primitives in order, refused ones at their places."""

    @property
    def count(self) -> int:
        """How many primitives were applied."""
        return sum(1 for primitive in self.primitives if primitive.error is None)

    @property
    def initial(self) -> IRModule | None:
        """The program before any primitive; None for tensor expressions."""
        return None

    @abstractmethod
    def applied_in(self, source: Source) -> int | None:
        """Return how many primitives ``source`` has had applied; None if it is not of this schedule."""

    @abstractmethod
    def lower(self) -> None:
        """Lower it as it is."""

    @abstractmethod
    def build_prefix(self, count: int, args: Sequence[Any] | None, target: Target, name: str) -> Source:
        """Build it as it was after ``count`` primitives; return what was lowered."""


class TensorSchedule(ScheduleRecord):
    """A schedule of tensor expressions.

    Parameters
    ----------
    schedule : Schedule
        It records its own primitives.
    """

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self.schedule = schedule

    @property
    def primitives(self) -> list[PrimitiveRecord]:
        """The primitives in order."""
        return [PrimitiveRecord(p.name, p.label, p.line) for p in self.schedule.primitives]

    @property
    def count(self) -> int:
        """How many primitives were applied."""
        return len(self.schedule.primitives)

    def applied_in(self, source: Source) -> int | None:
        """Return how many primitives the schedule has now."""
        return self.count if source is self.schedule else None

    def lower(self) -> None:
        """Lower it, with the arguments that a function of it would have."""
        lower(self.schedule, schedule_arguments(self.schedule))

    def build_prefix(self, count: int, args: Sequence[Any] | None, target: Target, name: str) -> Source:
        """Build a schedule to which the first primitives are applied again."""
        with uninstrumented():
            prefix, mapped = self.schedule.replay(count)
        tensors = args or schedule_arguments(self.schedule)
        build(prefix, [mapped(a) for a in tensors], target=target, name=name)
        return prefix


class BlockSchedule(ScheduleRecord):
    """A TensorIR schedule; programs are immutable, so that keeping each costs a reference.

    Parameters
    ----------
    parent : BlockSchedule, optional
        That of the schedule that it is a copy of.
    """

    def __init__(self, schedule: TIRSchedule, parent: BlockSchedule | None = None) -> None:
        super().__init__(is_copy=parent is not None)
        self.schedule = schedule
        self._initial: IRModule = parent.initial if parent else schedule.mod
        self._primitives: list[PrimitiveRecord] = list(parent.primitives) if parent else []

    def add(self, step: ScheduleStep, error: TVMError | None = None) -> None:
        """Add a primitive; those that look for blocks and loops are not steps, unless they do not find them."""
        refused = [primitive for primitive in self._primitives if primitive.error is not None]
        if error is not None and len(refused) >= MAX_REFUSED:
            self._primitives.remove(refused[0])
        record = PrimitiveRecord(step.name, step.label, current_line(), step.module, error, step.loops)
        if error is not None or not step.is_pure:
            self._primitives.append(record)

    @property
    def primitives(self) -> list[PrimitiveRecord]:
        """The primitives in order, refused ones at their places."""
        return self._primitives

    @property
    def initial(self) -> IRModule:
        """The program before any primitive."""
        return self._initial

    @property
    def labels(self) -> list[str]:
        """The calls that were applied."""
        return [primitive.label for primitive in self._primitives if primitive.error is None]

    @property
    def programs(self) -> list[IRModule]:
        """The program before the first primitive and after each."""
        return [self._initial, *(p.module for p in self._primitives if p.error is None and p.module is not None)]

    @property
    def trace(self) -> str:
        """How its last program was made of the first, in JSON; empty if it notes no trace."""
        trace = self.schedule.trace
        return json.dumps(trace.as_json()) if trace is not None else ""

    def applied_in(self, source: Source) -> int | None:
        """Return after which primitive the program was ``source``, or had it among its functions."""
        programs = list(enumerate(self.programs))
        same = (number for number, program in reversed(programs) if _is_of(source, program))
        return next(same, None)

    def lower(self) -> None:
        """Lower the program as it is."""
        lower(self.programs[-1])

    def build_prefix(self, count: int, args: Sequence[Any] | None, target: Target, name: str) -> Source:
        """Build the program as it was after ``count`` primitives."""
        program = self.programs[count]
        build(program, target=target, name=name)
        return program


def _is_of(source: Source, program: IRModule) -> bool:
    return source is program or any(source is function for function in program.functions.values())


def schedule_arguments(schedule: Schedule) -> list[Tensor]:
    """Return the arguments of a function that the script does not build: placeholders that are read, then outputs."""
    placeholders: list[Tensor] = []
    seen: set[Operation] = set()

    def visit(op: Operation) -> None:
        if op in seen:
            return
        seen.add(op)
        for tensor in op.input_tensors:
            visit(tensor.op)
            if isinstance(tensor.op, PlaceholderOp) and tensor not in placeholders:
                placeholders.append(tensor)

    for output in schedule.outputs:
        visit(output)
    return [*placeholders, *(op.output(i) for op in schedule.outputs for i in range(op.num_outputs))]
