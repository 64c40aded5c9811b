"""``tvm.auto_scheduler.loop_state``: schedules of a compute DAG that programs change step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compiler.classic.auto_scheduler.transform_steps import FIRST_THREAD, THREADS, Replay, Step, StepState, naming
from compiler.classic.auto_scheduler.workload import ComputeDAG, extent_of
from compiler.ir.error import ArgumentError, expected, require_int, show
from compiler.ir.expr.primexpr import IntImm, IterVar, Range
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.lowering.bounds import infer_bound
from compiler.te.scheduling.stage import Stage

_UNROLLED, _VECTORIZED, _PARALLEL = 1, 2, 3

StageKey = Operation | Tensor | int


@dataclass(frozen=True, eq=False)
class Iterator:
    """A loop; its ``range`` is None where sizes of tiles are still to be found."""

    axis: IterVar
    extent: int | None

    @property
    def name(self) -> str:
        """What the loop is called."""
        return self.axis.var.name

    @property
    def range(self) -> Range | None:
        """The iterations of the loop."""
        return None if self.extent is None else Range(0, self.extent)


@dataclass(frozen=True)
class StageOfState:
    """An operation with its loops, from the outermost to the innermost."""

    op: Operation
    iters: Sequence[Iterator]


class State:
    """A schedule as the steps that make it, of which a method takes another one.

    A stage is given by its operation, its tensor or its number, a loop by the iterator that a method returned, or that
    ``state[op].iters`` has. A length of ``split`` that is None is searched.
    """

    def __init__(self, state_object: StepState, dag: ComputeDAG) -> None:
        self.compute_dag = dag
        self._steps: list[Step] = []
        self._filled: list[Step] = []
        self._replay = Replay(dag, self._filled)
        self._ops: dict[Operation, Stage] = dict(zip(dag.ops, self._replay.stages, strict=True))
        self._known: dict[IterVar, Iterator] = {}
        for step in state_object.steps:
            self._take(*step)

    @property
    def state_object(self) -> StepState:
        """The steps, as sketch rules give and get them."""
        return StepState(tuple(self._steps))

    transform_steps = property(lambda self: list(self._steps))

    @property
    def stages(self) -> list[StageOfState]:
        """The operations with their loops, those that steps added too."""
        return [StageOfState(stage.op, self._iterators(stage)) for stage in self._replay.stages]

    @property
    def stage_ops(self) -> list[Operation]:
        """The operations of the stages."""
        return [stage.op for stage in self._replay.stages]

    @property
    def te_stages(self) -> list[Stage]:
        """The stages of the schedule, in which lengths that are to be found are 1."""
        return self._replay.stages

    def copy(self) -> State:
        """Return a state of the same steps."""
        return State(self.state_object, self.compute_dag)

    def __getitem__(self, key: StageKey) -> StageOfState:
        return self.stages[self._stage(key)]

    def __str__(self) -> str:
        return "\n".join(show(list(step)) for step in self._steps)

    # loops

    def bind(self, stage: StageKey, iterator: Iterator, thread_name: str) -> Iterator:
        """Bind a loop to threads, e.g. of ``threadIdx.x``."""
        if thread_name not in THREADS:
            expected("auto_scheduler.State.bind", "thread_name", f"one of {', '.join(THREADS)}", thread_name)
        return self._annotate(stage, iterator, FIRST_THREAD + THREADS.index(thread_name))

    def parallel(self, stage: StageKey, iterator: Iterator) -> Iterator:
        """Let the iterations of a loop run in parallel."""
        return self._annotate(stage, iterator, _PARALLEL)

    def unroll(self, stage: StageKey, iterator: Iterator, max_unroll: int | None = None) -> Iterator:
        """Unroll a loop, unless it is known to have more than ``max_unroll`` iterations."""
        self._place(stage, iterator)
        if max_unroll is not None and (iterator.extent or 0) > max_unroll:
            return iterator
        return self._annotate(stage, iterator, _UNROLLED)

    def vectorize(self, stage: StageKey, iterator: Iterator) -> Iterator:
        """Let a loop run over the lanes of a vector."""
        return self._annotate(stage, iterator, _VECTORIZED)

    def _annotate(self, stage: StageKey, iterator: Iterator, kind: int) -> Iterator:
        at, loop = self._place(stage, iterator)
        self._take("AN", at, loop, kind)
        return self._iterators(self._replay.stages[at])[loop]

    def fuse(self, stage: StageKey, iters: Sequence[Iterator]) -> Iterator:
        """Fuse neighbouring loops."""
        at, loops = self._places(stage, iters)
        extents = [each.extent for each in iters]
        if not loops:
            expected("auto_scheduler.State.fuse", "iters", "a list of one iterator at least", iters)
        self._take("FU", at, loops)
        return self._note(at, loops[0], None if None in extents else math.prod(e or 1 for e in extents))

    def pragma(self, stage: StageKey, iterator: Iterator, pragma_type: str) -> None:
        """Give a loop a pragma, e.g. ``auto_unroll_max_step$64``."""
        self._take("PR", *self._place(stage, iterator), pragma_type)

    def reorder(self, stage: StageKey, order: Sequence[Iterator]) -> None:
        """Put all loops of a stage in another order."""
        self._take("RE", *self._places(stage, order))

    def split(
        self, stage: StageKey, iterator: Iterator, lengths: Sequence[int | None], inner_to_outer: bool = True
    ) -> list[Iterator]:
        """Split a loop by the lengths of all loops but the outermost one, or but the innermost."""
        at, loop = self._place(stage, iterator)
        if not isinstance(lengths, (list, tuple)):
            expected("auto_scheduler.State.split", "lengths", "a list", lengths)
        for length in lengths:
            require_int("auto_scheduler.State.split", "a length", 1 if length is None else length, 1)
        given = tuple(None if each is None else int(each) for each in lengths)
        self._take("SP", at, loop, iterator.extent, given, int(inner_to_outer))
        return self._parts(at, loop, len(given), iterator, given, inner_to_outer)

    def follow_split(self, stage: StageKey, iterator: Iterator, src_step_id: int, n_split: int) -> list[Iterator]:
        """Split a loop as an earlier step did."""
        at, loop = self._place(stage, iterator)
        self._take("FSP", at, loop, src_step_id, n_split)
        return self._parts(at, loop, n_split, iterator, (None,), True)

    def follow_fused_split(
        self, stage: StageKey, iterator: Iterator, src_step_ids: Sequence[int], level: int, factor_or_nparts: bool
    ) -> list[Iterator]:
        """Split a loop by what earlier steps made of several at one level."""
        at, loop = self._place(stage, iterator)
        if not isinstance(src_step_ids, (list, tuple)):
            expected("auto_scheduler.State.follow_fused_split", "src_step_ids", "a list of ints", src_step_ids)
        self._take("FFSP", at, loop, tuple(src_step_ids), level, int(factor_or_nparts))
        return self._parts(at, loop, 1, iterator, (None,), True)

    def storage_align(self, stage: StageKey, iterator: Iterator, factor: int, offset: int) -> None:
        """Let rows along an axis begin at multiples of ``factor`` elements, and ``offset`` more."""
        self._take("SA", *self._place(stage, iterator), factor, offset)

    # places and further stages

    def compute_at(self, stage: StageKey, target_stage: StageKey, target_iter: Iterator) -> None:
        """Compute a stage in a loop of another one."""
        self._take("CA", self._stage(stage), *self._place(target_stage, target_iter))

    def compute_inline(self, stage: StageKey) -> None:
        """Compute a stage where it is read."""
        self._take("CI", self._stage(stage))

    def compute_root(self, stage: StageKey) -> None:
        """Compute a stage outside of all others."""
        self._take("CR", self._stage(stage))

    def cache_read(self, stage: StageKey, scope_name: str, reader_stages: Sequence[StageKey]) -> Operation:
        """Return a copy of a stage that others read instead."""
        at = self._stage(stage)
        if not isinstance(reader_stages, (list, tuple)):
            expected("auto_scheduler.State.cache_read", "reader_stages", "a list of stages", reader_stages)
        return self._added(at + 1, "CHR", at, scope_name, tuple(map(self._stage, reader_stages)))

    def cache_write(self, stage: StageKey, scope_name: str) -> Operation:
        """Return what computes a stage, which copies it from now on."""
        at = self._stage(stage)
        return self._added(at, "CHW", at, scope_name)

    def rfactor(self, stage: StageKey, iterator: Iterator, factor_iter_id: int) -> Operation:
        """Return what computes the parts of a reduction along a loop of it."""
        at, loop = self._place(stage, iterator)
        return self._added(at, "RF", at, loop, factor_iter_id)

    def infer_bounds(self) -> None:
        """Find out how many iterations the loops have where the stages are computed."""
        if any(step[0] == "SP" and None in step[4] for step in self._steps):
            raise ArgumentError("infer_bound_from_state: all lengths of splits must be chosen, some are None")
        domains = infer_bound(self._replay.schedule.normalize()).domains
        for axis in [axis for loops in self._replay.loops.values() for axis in loops if axis in domains]:
            extent = domains[axis].extent
            self._known[axis] = Iterator(axis, extent.value if isinstance(extent, IntImm) else None)

    # bookkeeping

    def _take(self, *step: Any) -> None:
        filled = step
        if step[0] == "SP":
            filled = (*step[:4], tuple(length or 1 for length in step[4]), *step[5:])
        with naming(len(self._steps), step):
            self._replay.take(filled)
        self._filled.append(filled)
        self._steps.append(step)

    def _added(self, at: int, *step: Any) -> Operation:
        self._take(*step)
        stage = self._replay.stages[at]
        self._ops[stage.op] = stage
        return stage.op

    def _stage(self, key: StageKey) -> int:
        stages = self._replay.stages
        if isinstance(key, int):
            found = [key] if 0 <= key < len(stages) else []
        else:
            op = key.op if isinstance(key, Tensor) else key
            found = [at for at, stage in enumerate(stages) if stage.op is op or stage is self._ops.get(op)]
        if not found:
            raise ArgumentError(f"auto_scheduler.State: it has no stage of {show(key)}")
        return found[0]

    def _place(self, stage: StageKey, iterator: Iterator) -> tuple[int, int]:
        at, given = self._stage(stage), iterator
        if not isinstance(given, Iterator):
            expected("auto_scheduler.State", "a loop", "an iterator, as state[op].iters has them", given)
        loops = self._replay.loops[self._replay.stages[at]]
        found = [place for place, loop in enumerate(loops) if loop is iterator.axis]
        found = found or [place for place, loop in enumerate(loops) if loop.var.name == iterator.name]  # of a copy
        if not found:
            raise ArgumentError(f"auto_scheduler.State: {iterator.name} is no loop of stage {at}")
        return at, found[0]

    def _places(self, stage: StageKey, iters: Sequence[Iterator]) -> tuple[int, tuple[int, ...]]:
        if not isinstance(iters, (list, tuple)):
            expected("auto_scheduler.State", "the loops", "a list of iterators", iters)
        return self._stage(stage), tuple(self._place(stage, each)[1] for each in iters)

    def _iterators(self, stage: Stage) -> list[Iterator]:
        return [self._iterator(axis) for axis in self._replay.loops[stage]]

    def _iterator(self, axis: IterVar) -> Iterator:
        if axis not in self._known:
            extent = extent_of(axis) if axis.dom is not None else None
            self._known[axis] = Iterator(axis, extent.value if isinstance(extent, IntImm) else None)
        return self._known[axis]

    def _note(self, at: int, loop: int, extent: int | None) -> Iterator:
        axis = self._replay.loops[self._replay.stages[at]][loop]
        self._known[axis] = Iterator(axis, extent)
        return self._known[axis]

    def _parts(
        self, at: int, loop: int, count: int, of: Iterator, lengths: Sequence[int | None], from_inside: bool
    ) -> list[Iterator]:
        """Return the loops that a split made, with what is known of their extents."""
        rest = None if None in lengths or of.extent is None else -(-of.extent // math.prod(n or 1 for n in lengths))
        known = [None] * (count + 1 - len(lengths)) if count > len(lengths) else [rest]
        extents = [*known, *lengths] if from_inside else [*lengths, *known]
        return [self._note(at, loop + part, extents[part]) for part in range(count + 1)]
