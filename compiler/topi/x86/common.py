"""What the schedules share: how wide and how many registers are, and how a group's other steps are carried out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compiler import te
from compiler.ir import dtype as dt
from compiler.ir.primexpr import IntImm
from compiler.target.codegen import llvm_get_vector_width
from compiler.te.operation import ComputeOp

_PARALLEL = 64
"""Turns of a parallel loop that no machine has more cores than."""


def lanes(target: Any, dtype: str = "float32") -> int:
    """Return how many numbers of a type one vector register holds."""
    return int(max(llvm_get_vector_width(target), 128) // dt.parse(dtype).bits)


def accumulators(target: Any) -> int:
    """Return how many vectors a register tile may have, so that room is left for what is multiplied."""
    return 28 if llvm_get_vector_width(target) >= 512 else 12


def extent(axis: Any) -> int | None:
    """Return the extent of an axis, None where it is symbolic."""
    dom = axis.dom
    return dom.extent.value if dom is not None and isinstance(dom.extent, IntImm) else None


def divisor(number: int | None, limit: int) -> int:
    """Return the largest divisor up to a limit."""
    return 1 if number is None else next(d for d in range(min(limit, number), 0, -1) if number % d == 0)


def even_tile(number: int, limit: int) -> int:
    """Return the size up to a limit of tiles that cover a number with little waste: a divisor if it is not small."""
    best = divisor(number, limit)
    return best if 2 * best > min(limit, number) else -(-number // -(-number // limit))


@dataclass(slots=True)
class Group:
    """A group's schedule with its hardest computation ready to be tiled.

    Attributes
    ----------
    schedule : Schedule
    tile : Tensor
        The hardest computation, kept in registers.
    last : Tensor
        What it is computed at: stored in memory, of the same shape.
    """

    schedule: Any
    tile: Any
    last: Any


def group(
    outputs: Sequence[Any], tags: Sequence[str], kept: Sequence[str] = (), inner_axes: int = 0, cut: bool = False
) -> Group | None:
    """Find a group's hardest computation by its tag and inline the other steps; None if it is not there.

    Parameters
    ----------
    kept : sequence of str
        Steps whose tag contains one of these words are left for the caller to schedule.
    inner_axes : int
        How many axes the hardest computation has after those of the result.
    cut : bool
        Whether it may be computed at a result that is smaller: tiles at its end are then stored with a condition.
    """
    ops = list(dict.fromkeys(t.op for t in outputs))
    schedule = te.create_schedule(ops)
    hard = next((s.op for s in schedule.stages if isinstance(s.op, ComputeOp) and s.op.tag in tags), None)
    if hard is None:
        return None
    for stage in list(schedule.stages):
        op = stage.op
        plain = isinstance(op, ComputeOp) and not op.reduce_axis and op not in ops and op is not hard
        if plain and not any(word in op.tag for word in kept):
            stage.compute_inline()
    main = hard.output(0)
    if inner_axes:
        # The next step adds up partial results: whatever else is a result reads that one.
        follower = next(s.op for s in schedule.stages if main in s.op.input_tensors)
        last = ops[0] if len(ops) == 1 and _same_shape(ops[0].output(0), follower.output(0), False) else follower
        schedule[last].compute_root()
        schedule[main].set_scope("local")
        for op in ops:
            if op is not last:
                simple(schedule[op], 16)
        return Group(schedule, main, last.output(0))
    if len(ops) == 1 and ops[0] is not hard and _same_shape(ops[0].output(0), main, cut):
        schedule[main].set_scope("local")
        return Group(schedule, main, ops[0].output(0))
    tile = schedule.cache_write(main, "local")
    for op in ops:
        if op is not hard:
            simple(schedule[op], 16)
    return Group(schedule, tile, main)


def _same_shape(a: Any, b: Any, cut: bool) -> bool:
    if len(a.shape) != len(b.shape):
        return False
    sizes = [(extent(x), extent(y)) for x, y in zip(a.op.axis, b.op.axis, strict=True)]
    return all(x is not None and y is not None and (x == y or (cut and x < y)) for x, y in sizes)


def parallel(stage: Any, axes: Sequence[Any]) -> None:
    """Run a stage's outermost loops on several cores, as one loop where they are several."""
    turns, taken = 1, 0
    for axis in axes:
        if turns >= _PARALLEL:
            break
        turns, taken = turns * (extent(axis) or _PARALLEL), taken + 1
    if turns > 1:
        stage.parallel(axes[0] if taken == 1 else stage.fuse(*axes[:taken]))


def simple(stage: Any, width: int) -> None:
    """Carry out a step without reductions: vectors along the last axis, outer loops on several cores."""
    axes = list(stage.op.axis)
    if not axes:
        return
    size = extent(axes[-1])
    if size is not None and size > 1:
        outer, inner = stage.split(axes[-1], factor=divisor(size, width) if divisor(size, width) > 3 else width)
        stage.vectorize(inner)
        axes[-1] = outer
    parallel(stage, axes)
