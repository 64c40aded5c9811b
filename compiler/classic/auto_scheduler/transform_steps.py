"""Schedules as classic TVM's auto-scheduler records them: the steps that were taken, by number of stage and loop.

A step is a list: what is done, the stage by its place among the stages of then, and its loops by their places.
A stage that a step adds moves those behind it; a step that makes loops puts them in the place of those it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from compiler.classic.auto_scheduler.workload import ComputeDAG
from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.expr.primexpr import IterVar
from compiler.te.definition.axis import thread_axis
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.schedule import Schedule, create_schedule
from compiler.te.scheduling.stage import Stage

Step = tuple[Any, ...]
UNROLL_DEPTH = "auto_unroll_max_step"
THREADS = ("vthread", "blockIdx.x", "threadIdx.x", "blockIdx.y", "threadIdx.y", "blockIdx.z", "threadIdx.z")
FIRST_THREAD = 4
_KINDS: dict[int, str] = {1: "unroll", 2: "vectorize", 3: "parallel"}
"""Annotations of loops that a primitive of the same name makes; threads follow, 0 and what is behind leave a loop."""


@dataclass(frozen=True, slots=True)
class StepState:
    """A schedule as the steps that make it, such as ``("SP", 2, 0, 32, (4,), 1)`` in a record."""

    steps: tuple[Step, ...]

    def schedule(self, dag: ComputeDAG) -> tuple[Schedule, list[Tensor]]:
        """Take the steps on a new schedule."""
        replay = Replay(dag, self.steps)
        for number, step in enumerate(self.steps):
            with naming(number, step):
                replay.take(step)
        return replay.schedule, dag.tensors


@contextmanager
def naming(number: int, step: Step) -> Iterator[None]:
    try:
        yield
    except (TVMError, AttributeError, IndexError, TypeError, ValueError) as exc:
        raise ArgumentError(
            f"auto_scheduler: step {number} of the record, {show(list(step))}, does not fit the workload: {exc}"
        ) from exc


class Replay:
    """The stages so far, each with its loops in the order that records count them in."""

    def __init__(self, dag: ComputeDAG, steps: Sequence[Step]) -> None:
        self.schedule = create_schedule(dag.outputs)
        self._steps = steps
        self.stages = [self.schedule[op] for op in dag.ops]
        self.loops: dict[Stage, list[IterVar]] = {}
        for stage in self.stages:
            self._plain(stage)

    def take(self, step: Step) -> None:
        """Take one step."""
        name, *arguments = step
        if name not in _STEPS:
            raise ArgumentError(f"there is no such step; there are {', '.join(_STEPS)}")
        if any(isinstance(a, int) and a < 0 for a in arguments):
            raise ArgumentError("stages and loops are counted from 0")
        _STEPS[name](self, *arguments)

    def _plain(self, stage: Stage) -> None:
        """Note the loops of a stage that has none of its primitives applied."""
        self.loops[stage] = [*getattr(stage.op, "axis", ()), *getattr(stage.op, "reduce_axis", ())]

    def _of(self, stage_id: int) -> tuple[Stage, list[IterVar]]:
        stage = self.stages[stage_id]
        return stage, self.loops[stage]

    # loops

    def annotate(self, stage_id: int, loop_id: int, kind: int) -> None:
        stage, loops = self._of(stage_id)
        if kind in _KINDS:
            getattr(stage, _KINDS[kind])(loops[loop_id])
        elif 0 <= kind - FIRST_THREAD < len(THREADS):
            stage.bind(loops[loop_id], thread_axis(None, THREADS[kind - FIRST_THREAD]))

    def fuse(self, stage_id: int, loop_ids: Sequence[int]) -> None:
        stage, loops = self._of(stage_id)
        first = loop_ids[0] if loop_ids else 0
        if list(loop_ids) != list(range(first, first + len(loop_ids))):
            raise ArgumentError("only neighbouring loops are fused, from the outermost on")
        loops[first : first + len(loop_ids)] = [stage.fuse(*(loops[i] for i in loop_ids))]

    def pragma(self, stage_id: int, loop_id: int, what: str) -> None:
        stage, loops = self._of(stage_id)
        name, _, value = what.partition("$")
        if name != UNROLL_DEPTH:
            stage.pragma(loops[loop_id], name)
            return
        stage.pragma(loops[loop_id], name, int(value))
        stage.pragma(loops[loop_id], "unroll_explicit", True)

    def reorder(self, stage_id: int, loop_ids: Sequence[int]) -> None:
        stage, loops = self._of(stage_id)
        if sorted(loop_ids) != list(range(len(loops))):
            raise ArgumentError(f"the stage has {len(loops)} loops")
        loops[:] = [loops[i] for i in loop_ids]
        stage.reorder(*loops)

    def split(
        self, stage_id: int, loop_id: int, extent: int | None, lengths: Sequence[int], from_inside: int = 1
    ) -> None:
        """Split a loop several times; ``lengths`` are those of all loops but the outermost, or but the innermost."""
        stage, loops = self._of(stage_id)
        rest, made = loops[loop_id], list[IterVar]()
        for length in reversed(lengths) if from_inside else lengths:
            if from_inside:
                rest, inner = stage.split(rest, factor=length)
                made.insert(0, inner)
            else:
                outer, rest = stage.split(rest, nparts=length)
                made.append(outer)
        loops[loop_id : loop_id + 1] = [rest, *made] if from_inside else [*made, rest]

    def follow_split(self, stage_id: int, loop_id: int, source: int, count: int) -> None:
        """Split as an earlier step did; what its loops have more than ``count`` goes into the last one."""
        lengths = self._lengths(source)
        if not 0 < count <= len(lengths):
            raise ArgumentError(f"step {source}, which it follows, has {len(lengths)} lengths")
        self.split(stage_id, loop_id, None, [*lengths[: count - 1], math.prod(lengths[count - 1 :])])

    def follow_fused_split(
        self, stage_id: int, loop_id: int, sources: Sequence[int], level: int, by_factor: int
    ) -> None:
        """Split by what earlier steps made of several loops at one level."""
        self.split(stage_id, loop_id, None, [math.prod(self._lengths(i)[level] for i in sources)], by_factor)

    def _lengths(self, number: int) -> Sequence[int]:
        step = self._steps[number]
        if step[0] != "SP":
            raise ArgumentError(f"step {number}, which it follows, is no split")
        lengths: Sequence[int] = step[4]
        return lengths

    def storage_align(self, stage_id: int, loop_id: int, factor: int, offset: int) -> None:
        stage, loops = self._of(stage_id)
        if any(loops[loop_id] is axis for axis in stage.op.axis):  # a loop that is no dimension has no stride
            stage.storage_align(loops[loop_id], factor, offset)

    # places

    def compute_at(self, stage_id: int, target_id: int, loop_id: int) -> None:
        target, loops = self._of(target_id)
        self.stages[stage_id].compute_at(target, loops[loop_id])

    def compute_inline(self, stage_id: int) -> None:
        self.stages[stage_id].compute_inline()

    def compute_root(self, stage_id: int) -> None:
        self.stages[stage_id].compute_root()

    # further stages

    def cache_read(self, stage_id: int, scope: str, reader_ids: Sequence[int]) -> None:
        readers: list[Tensor | Operation] = [self.stages[i].op for i in reader_ids]
        copy = self.schedule.cache_read(self.stages[stage_id].op.output(0), scope, readers)
        self._insert(stage_id + 1, copy)

    def cache_write(self, stage_id: int, scope: str) -> None:
        stage = self.stages[stage_id]
        (first, *_) = self.schedule.cache_write(list(stage.op.outputs), scope)
        self._plain(stage)
        self._insert(stage_id, first)

    def rfactor(self, stage_id: int, loop_id: int, factor_axis: int) -> None:
        stage, loops = self._of(stage_id)
        partial = self.schedule.rfactor(stage.op.output(0), loops[loop_id], factor_axis)
        self._plain(stage)
        self._insert(stage_id, partial[0] if isinstance(partial, list) else partial)

    def _insert(self, place: int, tensor: Tensor) -> None:
        stage = self.schedule[tensor.op]
        self.stages.insert(place, stage)
        self._plain(stage)


_STEPS: dict[str, Callable[..., None]] = {
    "AN": Replay.annotate,
    "CA": Replay.compute_at,
    "CHR": Replay.cache_read,
    "CHW": Replay.cache_write,
    "CI": Replay.compute_inline,
    "CR": Replay.compute_root,
    "FFSP": Replay.follow_fused_split,
    "FSP": Replay.follow_split,
    "FU": Replay.fuse,
    "PR": Replay.pragma,
    "RE": Replay.reorder,
    "RF": Replay.rfactor,
    "SA": Replay.storage_align,
    "SP": Replay.split,
}
"""What classic TVM calls its steps in a record."""
