"""Schedules of groups without an anchor: inline cheap stages, parallelise outer loops, vectorise inner ones.

:func:`schedule_rule_for` says which one suits a fusion pattern.  A group may hold anything; its stages that are stored
are scheduled one by one: elements in vectors along the last axis, reductions with a partial result in each lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias

from compiler import te
from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Add, Call, Div, ProducerLoad, Reduce, Select
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import Visitor, nodes_of
from compiler.target.target import Target, TargetLike
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Operation
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.topi.operands import dims
from compiler.topi.schedules.anchor import output_operations
from compiler.topi.schedules.kit import (
    SOME_CORES,
    even_tile,
    extent,
    is_worth_parallel,
    parallel,
    partition_partial_tile,
    vectorize_elements,
    vectors_at_once,
)
from compiler.topi.schedules.lanes import contiguous_axes, in_lanes
from compiler.topi.schedules.rows import schedule_rows
from compiler.topi.tag import OpPattern, Tag

ScheduleRule: TypeAlias = Callable[[Sequence[te.Tensor], Target], te.Schedule]
"""``rule(outputs, target)`` returns the schedule of a group."""
_LONG = 1024
"""Terms of a sum that are too many to be added one after another."""
_MANY_ROWS, _LINES = 16, 128
"""Terms of a reduction that are worth it to read several vectors of a row, and the bytes of two lines of a cache."""
_MOST_READS = 512
"""Of a group; where each step reads the one before twice, they double with every step."""


def schedule_rule_for(pattern: int) -> ScheduleRule:
    """Return the schedule rule of a group by the pattern of its anchor."""
    return schedule_reduce if pattern == OpPattern.COMM_REDUCE else schedule_injective


def schedule_injective(outs: te.Tensor | Sequence[te.Tensor], target: TargetLike | None = None) -> te.Schedule:
    """Return a schedule with loops over elements: outer axes fused and parallel, the innermost one in vectors.

    ``target`` is the current one when left out, else this machine.
    """
    return _schedule(outs, target)


def schedule_injective_from_existing(sch: te.Schedule, out: te.Tensor) -> te.Schedule:
    """Let the loops of one tensor run over elements in a schedule, which is changed, that goes on otherwise."""
    lanes = Target.target_or_current(None).vector_width(out.dtype)
    vectorize_elements(sch[out], lanes, isinstance(out.op, ComputeOp) and _is_elementwise(out.op))
    return sch


def schedule_reduce(outs: te.Tensor | Sequence[te.Tensor], target: TargetLike | None = None) -> te.Schedule:
    """Return a schedule for reductions: over contiguous elements each lane of a vector has a partial result.

    ``target`` is the current one when left out, else this machine.
    """
    return _schedule(outs, target)


def _schedule(outs: te.Tensor | Sequence[te.Tensor], target: TargetLike | None) -> te.Schedule:
    machine = Target.target_or_current(target)
    ops = output_operations([outs] if isinstance(outs, te.Tensor) else outs)
    schedule = te.create_schedule(ops)
    stored = inline_cheap(schedule, set(ops))
    if schedule_rows(schedule, stored, machine):
        return schedule
    # A reader's operation is another one after the reduction that it reads has been split into partial results.
    for stage in [each for each in schedule.stages if each.op in stored]:
        op = stage.op
        if not isinstance(op, ComputeOp) or _window_over(schedule, op) is not None:
            continue
        lanes = machine.vector_width(op.outputs[0].dtype)
        if contiguous_axes(op):
            in_lanes(schedule, stage, lanes)
            continue
        if op.tag == Tag.COPIES:
            _copy_rows(stage, lanes, is_worth_parallel(op))
            continue
        if (strided := _strided(op, stored)) is not None and _in_tiles(stage, *strided, lanes):
            continue
        is_worth, parts = is_worth_parallel(op), _sum_in_parts(schedule, stage)
        is_contiguous = all(_is_elementwise(o) for o in _computed(schedule))
        summed = stage if parts is None else parts
        wide = _lanes_of_columns(summed.op, lanes)
        at_once = max(vectors_at_once(summed.op, stored) * lanes // wide, 1)
        loop = vectorize_elements(stage, wide, is_contiguous, is_worth, at_once)
        if parts is not None:
            parts.compute_at(stage, stage.op.reduce_axis[0])
            vectorize_elements(parts, wide, on_cores=False, at_once=at_once)
        for padded in [s for s in schedule.stages if s.op in stored and _window_over(schedule, s.op) is op]:
            if loop is not None:
                padded.compute_at(stage, loop)
            _copy_rows(padded, lanes, loop is None and is_worth_parallel(padded.op))
    return schedule


def _copy_rows(stage: te.Stage, lanes: int, on_cores: bool) -> None:
    """Copy what lies between the ends of rows without conditions; LLVM makes that vectors, or calls of ``memcpy``.

    Axes after the last one that has ends are copied as they are: vectors of a few channels.
    """
    assert isinstance(stage.op, ComputeOp)
    *outer, last = stage.op.axis
    choices = [n for n in nodes_of(stage.op.body, Call) if n.op is IF_THEN_ELSE]
    chosen = {var for choice in choices for var in free_vars(choice.args[0])}
    with_ends = next((axis for axis in reversed(stage.op.axis) if axis.var in chosen), last)
    stage.pragma(with_ends, "loop_partition_hint")
    if with_ends is not last and (size := extent(last)) is not None and size % lanes == 0:
        stage.vectorize(stage.split(last, factor=lanes)[1])
    if on_cores:
        parallel(stage, outer)


def _lanes_of_columns(op: Operation, lanes: int) -> int:
    """Return the lanes of several vectors of a row, which a long reduction of columns reads at once.

    A vector that goes down all rows alone reads a part of a line of the cache in each, or one that nothing fetched.
    """
    if not isinstance(op, ComputeOp) or not op.axis or math.prod(extent(e) or 0 for e in op.reduce_axis) < _MANY_ROWS:
        return lanes
    column = op.axis[-1].var
    read = [load.indices for load in nodes_of(op.body, ProducerLoad)]
    in_rows = all(at[-1] is column for at in read if any(column in free_vars(index) for index in at))
    if not in_rows or dt.is_bool(op.output(0).dtype):  # vectors of each other element, or of bits, take more registers
        return lanes
    *outer, size = (extent(axis) or 1 for axis in op.axis)
    few = max(_LINES // (lanes * dt.storage_bytes(op.output(0).dtype)), 1)
    counts = [n for n in (8, 4, 2) if size % (n * lanes) == 0]
    fits = (n for n in counts if n <= few or math.prod(outer) * size // (n * lanes) >= SOME_CORES)
    return next(fits, 1) * lanes


def _sum_in_parts(schedule: te.Schedule, stage: te.Stage) -> te.Stage | None:
    """Add up parts of a long sum, then these; return their stage.

    Terms that are added one after another to what is far larger are all rounded, often in the same direction.
    """
    op, axes, sizes = stage.op, list(stage.op.reduce_axis), [extent(axis) or 0 for axis in stage.op.reduce_axis]
    terms = math.prod(sizes)
    if not isinstance(op, ComputeOp) or terms < _LONG or not dt.is_float(op.output(0).dtype) or not _is_sum(op):
        return None
    part, size = math.isqrt(terms), sizes.pop()
    while size < part:
        part, size = part // size, sizes.pop()
    *around, axis = axes[: len(sizes) + 1]
    outer, _ = stage.split(axis, factor=even_tile(size, part))
    schedule.rfactor(op.output(0), stage.fuse(*around, outer) if around else outer)
    return schedule[stage.op.input_tensors[0]]


def _is_sum(op: ComputeOp) -> bool:
    (first, *others) = op.body
    return isinstance(first, Reduce) and not others and isinstance(first.combiner.result[0], Add)


def _window_over(schedule: te.Schedule, op: Operation) -> Operation | None:
    """Return the reduction by windows that alone reads some elements and the zeros around them.

    What an iteration of its outer loop reads is computed there, and stays in the first caches.
    """
    readers = readers_of(schedule).get(op, []) if isinstance(op, ComputeOp) and op.tag == Tag.PAD else []
    reader = readers[0] if len(readers) == 1 else None
    return reader if isinstance(reader, ComputeOp) and reader.reduce_axis and not contiguous_axes(reader) else None


def _strided(op: ComputeOp, stored: Collection[Operation]) -> tuple[int, int] | None:
    """Return which axis of the result, if not the last one, neighbours in memory of what is read lie along, and how
    many they are: those of a transposed operand.  What is inlined may read it, too.
    """
    axes = [axis.var for axis in op.axis]
    if op.reduce_axis or len(axes) < 2:
        return None
    analyzer = Analyzer.knowing({axis.var: axis.dom for axis in op.axis if axis.dom is not None})
    for load in _reads(op.body, stored):
        if not load.indices:
            continue
        *before, last = (free_vars(analyzer.simplify(index)) for index in load.indices)
        at = next((at for at, axis in enumerate(axes[:-1]) if axis in last and axes[-1] not in last), None)
        size = dims(load.producer)[-1]
        if at is not None and any(axes[-1] in index for index in before) and isinstance(size, int):
            return at, size
    return None


def _reads(n: object, stored: Collection[Operation]) -> Iterator[ProducerLoad]:
    """Yield what an expression reads of memory, through what is inlined; not all of what reads thousands of times."""
    loads = [*nodes_of(n, ProducerLoad)][::-1]
    for _ in range(_MOST_READS):
        if not loads:
            return
        load = loads.pop()
        made = load.producer.op
        if isinstance(made, ComputeOp) and made not in stored:
            here = dict(zip([axis.var for axis in made.axis], load.indices, strict=True))
            loads += [*nodes_of(substitute(made.body[load.producer.value_index], here), ProducerLoad)][::-1]
        else:
            yield load


def _in_tiles(stage: te.Stage, at: int, size: int, lanes: int) -> bool:
    """Pass over some rows of a tile one by one: what one of them reads of a line of the cache, all do."""
    axes = list(stage.op.axis)
    count, most = extent(axes[at]) or 1, min(size, lanes)
    squares = (r for r in (16, 8, 4) if r <= most and not count % r and not size % r)
    rows = next(squares, even_tile(count, most))
    if rows < 2:
        return False
    row, inner = stage.split(axes[at], factor=rows)
    many, few = stage.split(axes[-1], factor=min(lanes, extent(axes[-1]) or lanes))
    outer = [*axes[:at], row, *axes[at + 1 : -1]]
    stage.reorder(*outer, many, inner, few)
    partition_partial_tile(stage, axes[at], row, rows)
    stage.vectorize(few)
    if is_worth_parallel(stage.op):
        parallel(stage, outer)
    return True


def _is_elementwise(op: ComputeOp) -> bool:
    """Return whether each element is computed from those at the same place, and from scalars."""
    shape = dims(op.outputs[0])
    if op.tag == Tag.BROADCAST:
        return all(isinstance(d, int) for d in shape) and all(dims(t) in (shape, ()) for t in op.input_tensors)
    return op.tag == Tag.ELEMWISE or not shape


def _computed(schedule: te.Schedule) -> list[ComputeOp]:
    return [s.op for s in schedule.stages if isinstance(s.op, ComputeOp)]


# what is stored


def inline_cheap(schedule: te.Schedule, outputs: set[Operation], always: Collection[str] = ()) -> set[Operation]:
    """Inline what costs less to compute again than to store, and return what is stored.

    Stored are the outputs, reductions, and what is expensive and read more than once.
    """
    readers = readers_of(schedule)
    stored = set(outputs)
    for stage in schedule.stages:
        op = stage.op
        if (
            isinstance(op, ComputeOp)
            and op not in stored
            and (op.tag in always or _is_inlined(op, readers.get(op, [])))
        ):
            stage.compute_inline()
        elif isinstance(op, ComputeOp):
            stored.add(op)
    return stored


def readers_of(schedule: te.Schedule) -> dict[Operation, list[Operation]]:
    """Return what reads each operation of a schedule."""
    readers: dict[Operation, list[Operation]] = {}
    for stage in schedule.stages:
        for tensor in stage.op.input_tensors:
            readers.setdefault(tensor.op, []).append(stage.op)
    return readers


def _is_inlined(op: ComputeOp, readers: Sequence[Operation]) -> bool:
    """Recomputing what is cheap costs less than memory; what is expensive is computed once for each element.

    What a statement of the user's reads must be stored.
    """
    computed = [reader for reader in readers if isinstance(reader, ComputeOp)]
    if op.reduce_axis or len(op.body) > 1 or len(computed) < len(readers):
        return False
    if _is_expensive(op):
        return len(computed) == 1 and not computed[0].reduce_axis
    return True


def _is_expensive(op: ComputeOp) -> bool:
    cost = _Expensive()
    cost.visit(op.body[0])
    return cost.is_expensive


class _Expensive(Visitor):
    """Looks for function calls, divisions and choices in an expression."""

    def __init__(self) -> None:
        self.is_expensive = False

    def visit_Call(self, n: Call) -> None:
        self.is_expensive = True

    def visit_Select(self, n: Select) -> None:
        self.is_expensive = True

    def visit_Div(self, n: Div) -> None:
        self.is_expensive |= dt.is_float(n.dtype)
        self.visit_Node(n)
