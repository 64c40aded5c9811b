"""Random legal schedules of a program, drawn by hypothesis."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from compiler import te
from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import IterVar, Reduce
from compiler.te.definition.operation import ComputeOp
from compiler.te.lowering.bounds import infer_bound
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import AttachType, Stage
from compiler.te.scheduling.stage_state import stage_primitives
from tests.properties.te_programs import Draw, Program, pick

Step = Callable[[Draw, Stage], None]
"""Applies one primitive, with arguments that it draws."""
OUTSIDE = "outside of its consumer"
"""What is said of a stage that some of its readers cannot see."""


def schedules(draw: Draw, program: Program, steps: int = 6) -> Schedule:
    """Draw a schedule of the program's outputs, made by up to ``steps`` primitives and the places of its stages."""
    schedule = te.create_schedule([t.op for t in program.outputs])
    for _ in range(draw(st.integers(0, 2))):
        pick(draw, [_cache_read, _cache_write, _rfactor])(draw, schedule)
    for _ in range(draw(st.integers(0, steps))):
        transform_loops(draw, _stage(draw, schedule))
    for stage in reversed(schedule.stages):
        _place(draw, schedule, stage)
        _choose_memory(draw, stage)
        if draw(st.integers(0, 3)) == 0:
            _prefetch(draw, stage)
    if draw(st.booleans()):
        split(draw, _stage(draw, schedule))
    if all(stage.scope in ("", "global") for stage in schedule.stages) and draw(st.integers(0, 2)) == 0:
        _bind_virtual_thread(draw, _stage(draw, schedule))
    return schedule


def _bind_virtual_thread(draw: Draw, stage: Stage) -> None:
    """Bind a loop to virtual threads, which share no memory but the global one."""
    parallel = [a for a in stage.leaf_iter_vars if a.iter_type != IterVar.CommReduce and not _has_kind(stage, a)]
    if parallel and stage.attach_type is not AttachType.INLINE:
        stage.bind(pick(draw, parallel), te.thread_axis("vthread"))


def _has_kind(stage: Stage, axis: IterVar) -> bool:
    attr = stage.iter_var_attrs.get(axis)
    return attr is not None and attr.iter_type is not None


def _computed(schedule: Schedule) -> list[Stage]:
    return [s for s in schedule.stages if isinstance(s.op, ComputeOp)]


def _stage(draw: Draw, schedule: Schedule) -> Stage:
    return pick(draw, _computed(schedule))


def _consumers(schedule: Schedule, stage: Stage) -> list[Stage]:
    return [s for s in schedule.stages if any(t.op is stage.op for t in s.op.input_tensors)]


def _is_reduction(stage: Stage) -> bool:
    return isinstance(stage.op, ComputeOp) and isinstance(stage.op.body[0], Reduce)


def split(draw: Draw, stage: Stage) -> None:
    if stage.leaf_iter_vars:
        axis = pick(draw, stage.leaf_iter_vars)
        size = draw(st.integers(1, 5))
        if draw(st.booleans()):
            stage.split(axis, factor=size)
        else:
            stage.split(axis, nparts=size)


def fuse(draw: Draw, stage: Stage) -> None:
    leaves = stage.leaf_iter_vars
    pairs = [(a, b) for a, b in itertools.pairwise(leaves) if a.iter_type == b.iter_type]
    if pairs:
        stage.fuse(*pick(draw, pairs))


def reorder(draw: Draw, stage: Stage) -> None:
    stage.reorder(*_shuffled(draw, stage.leaf_iter_vars))


def _on_any_loop(name: str) -> Step:
    """Return a step that applies a primitive, which takes one loop, to any one."""

    def apply(draw: Draw, stage: Stage) -> None:
        if stage.leaf_iter_vars:
            getattr(stage, name)(pick(draw, stage.leaf_iter_vars))

    return apply


def transform_loops(draw: Draw, stage: Stage) -> None:
    """Apply any primitive that changes the loops of a stage or how they run; splits are twice as likely."""
    pick(draw, [split, *loop_steps(), reorder, annotate])(draw, stage)


def loop_steps() -> list[Step]:
    """Return a step for each primitive that stands beside an axis relation, whatever there is."""
    steps: dict[str, Step] = {"split": split, "fuse": fuse}
    for name, method in stage_primitives.methods.items():
        parameters = list(inspect.signature(method).parameters)
        if name not in steps:
            assert len(parameters) == 2, f"{name} takes more than a loop: add a step that draws its arguments"
            steps[name] = _on_any_loop(name)
    return list(steps.values())


def _shuffled(draw: Draw, axes: list[IterVar]) -> list[IterVar]:
    return [axes[i] for i in draw(st.permutations(range(len(axes))))]


def annotate(draw: Draw, stage: Stage) -> None:
    parallel = [a for a in stage.leaf_iter_vars if a.iter_type != IterVar.CommReduce]
    if parallel:
        axis = pick(draw, parallel)
        pick(draw, [stage.vectorize, stage.unroll, stage.parallel, _pragma(stage)])(axis)


def _pragma(stage: Stage) -> Callable[[IterVar], None]:
    return lambda axis: stage.pragma(axis, "auto_unroll_max_step", 8)


def _place(draw: Draw, schedule: Schedule, stage: Stage) -> None:
    """Put a stage at root, into its readers, or into a loop that encloses all of them."""
    if not isinstance(stage.op, ComputeOp) or stage.is_output:
        return
    consumers = _consumers(schedule, stage)
    ways: list[Callable[[], Any]] = [lambda: None]
    if not _is_reduction(stage):
        ways.append(stage.compute_inline)
    places = [s for s in _around(consumers) if s.leaf_iter_vars and s.attach_type is not AttachType.INLINE]
    if places:
        ways += [lambda: _compute_at(draw, schedule, stage, pick(draw, places))] * 3
    pick(draw, ways)()


def _choose_memory(draw: Draw, stage: Stage) -> None:
    """Say how a stage's buffer is kept."""
    if not isinstance(stage.op, ComputeOp) or stage.is_output or stage.attach_type is AttachType.INLINE:
        return
    if draw(st.booleans()):
        stage.double_buffer()
    if draw(st.integers(0, 3)) == 0:
        stage.storage_align(pick(draw, stage.op.axis), draw(st.integers(1, 6)), draw(st.integers(0, 3)))
    if draw(st.integers(0, 3)) == 0:
        stage.set_scope(pick(draw, ["local", "shared", "global"]))


def _prefetch(draw: Draw, stage: Stage) -> None:
    """Fetch something that a stage reads ahead, by itself or in shares."""
    if stage.op.input_tensors and stage.leaf_iter_vars:
        axis, ahead = pick(draw, stage.leaf_iter_vars), draw(st.integers(1, 3))
        stage.prefetch(pick(draw, stage.op.input_tensors), axis, ahead, shared=draw(st.booleans()))


def _around(stages: list[Stage]) -> list[Stage]:
    """Return stages and those that they are computed in."""
    found = dict.fromkeys(stages)
    for stage in stages:
        at: Stage | None = stage
        while at is not None:
            found[at] = None
            at = at.attach_stage
    return list(found)


def _compute_at(draw: Draw, schedule: Schedule, stage: Stage, place: Stage) -> None:
    """Put a stage into a loop; where one of its readers would not be inside, compute it as a whole after all."""
    stage.compute_at(place, pick(draw, place.leaf_iter_vars))
    try:
        infer_bound(schedule.normalize())
    except ScheduleError as error:
        if OUTSIDE not in str(error):
            raise
        stage.compute_root()


def _cache_read(draw: Draw, schedule: Schedule) -> None:
    readable = [s for s in schedule.stages if _consumers(schedule, s)]
    if readable:
        stage = pick(draw, readable)
        consumers = _consumers(schedule, stage)
        some = consumers[: draw(st.integers(1, len(consumers)))]
        read = next(t for t in some[0].op.input_tensors if t.op is stage.op)
        readers = [s.op for s in some if read in s.op.input_tensors]
        schedule.cache_read(read, "local", readers)


def _cache_write(draw: Draw, schedule: Schedule) -> None:
    stage = _stage(draw, schedule)
    if all(s.op.name != f"{stage.op.name}.local" for s in schedule.stages):
        if draw(st.booleans()):
            split(draw, stage)
        schedule.cache_write(list(stage.op.outputs), "local")


def _rfactor(draw: Draw, schedule: Schedule) -> None:
    stages = [s for s in _computed(schedule) if _is_reduction(s)]
    if stages:
        stage = pick(draw, stages)
        if draw(st.booleans()):
            stage.split(stage.op.reduce_axis[-1], factor=draw(st.integers(1, 4)))
        axes = [a for a in stage.leaf_iter_vars if a.iter_type == IterVar.CommReduce]
        place = draw(st.integers(-1, len(stage.op.axis)))
        schedule.rfactor(stage.op.output(0), pick(draw, axes), place)
