"""Schedules for groups without one of their own: cheap steps inlined, outer loops parallel, inner ones vectors.

:func:`schedule_rule_for` says which one suits a fusion pattern.  A group may hold anything; its stages that are kept
are scheduled one by one, elements as :func:`schedule_injective` says, reductions as :func:`schedule_reduce` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from compiler import te
from compiler.ir import dtype as dt
from compiler.ir.functor import Visitor
from compiler.ir.primexpr import Call, Div, IntImm, IterVar, ProducerLoad, Reduce, Select
from compiler.ir.substitute import post_order_visit
from compiler.target.codegen.llvm.vector_width import vector_bits
from compiler.target.target import Target
from compiler.te.operation import ComputeOp

_PARALLEL_ENOUGH = 64
"""Turns of the outer loop that no machine has more cores than."""
_COMM_REDUCE = 3
"""The fusion pattern of reductions; patterns are named on a higher floor."""
_WORTHWHILE = 4
"""Lanes that a vector has at least."""
_WORTH_A_CORE = 8192
"""Elements, or steps of a reduction, that take longer than waking other cores does: some microseconds."""

Rule = Callable[[Sequence[Any], Any], Any]


def schedule_rule_for(pattern: int) -> Rule:
    """Return the schedule of a group whose hardest operator has a pattern, as ``rule(outputs, target)``."""
    return schedule_reduce if pattern == _COMM_REDUCE else schedule_injective


def schedule_injective(outs: Any, target: Any = None) -> Any:
    """Return a schedule with loops over elements: outer axes fused and parallel, the innermost one in vectors.

    Parameters
    ----------
    outs : Tensor or sequence of Tensor
    target : Target, optional
        The current one when left out.
    """
    return _schedule(outs, target)


def schedule_reduce(outs: Any, target: Any = None) -> Any:
    """Return a schedule for reductions: over contiguous elements each lane of a vector has a partial result.

    Parameters
    ----------
    outs : Tensor or sequence of Tensor
    target : Target, optional
        The current one when left out.
    """
    return _schedule(outs, target)


def _schedule(outs: Any, target: Any) -> Any:
    outputs = list(outs) if isinstance(outs, (tuple, list)) else [outs]
    machine = target if isinstance(target, Target) else Target(target) if target else Target.current() or Target("llvm")
    schedule = te.create_schedule(list(dict.fromkeys(t.op for t in outputs)))
    kept = _inline(schedule, {t.op for t in outputs})
    bits = vector_bits(machine)
    for stage in list(schedule.stages):
        op = stage.op
        if isinstance(op, ComputeOp) and op in kept:
            lanes = max(bits // dt.parse(op.outputs[0].dtype).bits, 1)
            if _contiguous(op):
                _partial_results(schedule, stage, lanes)
            else:
                _elements(stage, lanes, all(o.tag == "elemwise" for o in _computed(schedule)))
    return schedule


def _computed(schedule: Any) -> list[Any]:
    return [s.op for s in schedule.stages if isinstance(s.op, ComputeOp)]


# what is stored


def _inline(schedule: Any, outputs: set[Any]) -> set[Any]:
    """Inline what costs less to compute again than to store; return the operations that are stored."""
    readers = _readers(schedule)
    kept = set(outputs)
    for stage in schedule.stages:
        op = stage.op
        if isinstance(op, ComputeOp) and op not in kept and _is_inlined(op, readers.get(op, [])):
            stage.compute_inline()
        elif isinstance(op, ComputeOp):
            kept.add(op)
    return kept


def _readers(schedule: Any) -> dict[Any, list[Any]]:
    readers: dict[Any, list[Any]] = {}
    for stage in schedule.stages:
        for tensor in stage.op.input_tensors:
            readers.setdefault(tensor.op, []).append(stage.op)
    return readers


def _is_inlined(op: ComputeOp, readers: list[Any]) -> bool:
    """Recomputing what is cheap costs less than memory; what is dear is computed once for each of its elements."""
    if op.reduce_axis or len(op.body) > 1:
        return False
    if _is_dear(op):
        return len(readers) == 1 and not readers[0].reduce_axis
    return True


def _is_dear(op: ComputeOp) -> bool:
    dear = _Dear()
    dear.visit(op.body[0])
    return dear.found


class _Dear(Visitor):
    """Finds function calls, divisions and choices in an expression."""

    def __init__(self) -> None:
        self.found = False

    def visit_Call(self, n: Call) -> None:
        self.found = True

    def visit_Select(self, n: Select) -> None:
        self.found = True

    def visit_Div(self, n: Div) -> None:
        self.found |= dt.is_float(n.dtype)
        self.visit_Node(n)


# loops


def _elements(stage: Any, lanes: int, same_shape: bool) -> None:
    """Vectors along the last axis; where all tensors have one shape, along as many axes as a vector needs."""
    axes = list(stage.op.axis)
    if not axes:
        return
    extent, inner = extent_of(axes[-1]), None
    if same_shape:
        axes, extent = _widen(stage, axes, lanes)
    *outer, last = axes
    if lanes > 1 and extent is not None and extent >= _WORTHWHILE:
        last, inner = stage.split(last, factor=_vector(extent, lanes))
    stage.reorder(*outer, last, *stage.op.reduce_axis, *([inner] if inner is not None else []))
    if inner is not None:
        stage.vectorize(inner)
    _in_parallel(stage, [*outer, last])


def _widen(stage: Any, axes: list[Any], lanes: int) -> tuple[list[Any], int | None]:
    """Fuse inner axes until their extent is a whole number of vectors; return all axes, and that extent."""
    sizes = [extent_of(a) for a in axes]
    count, size = 1, sizes[-1]
    while size is not None and size % lanes and count < len(axes) and (outer := sizes[-count - 1]) is not None:
        count, size = count + 1, size * outer
    return (axes if count == 1 else [*axes[:-count], stage.fuse(*axes[-count:])]), size


def _vector(extent: int, lanes: int) -> int:
    """Return the number of lanes of a vector that divides an extent, else the widest."""
    return next((n for n in range(min(lanes, extent), lanes // 4, -1) if extent % n == 0), min(lanes, extent))


def _in_parallel(stage: Any, axes: list[Any]) -> None:
    """Fuse outer loops until there are turns enough for every core."""
    turns, count = 1, 0
    for axis in axes:
        extent = _PARALLEL_ENOUGH if axis.dom is None else extent_of(axis)
        if turns >= _PARALLEL_ENOUGH or extent is None:
            break
        turns, count = turns * extent, count + 1
    if count and turns > 1 and _is_work(stage.op):
        stage.parallel(axes[0] if count == 1 else stage.fuse(*axes[:count]))


def _is_work(op: ComputeOp) -> bool:
    """Return whether an operation is work enough to wake other cores for."""
    extents = [extent_of(axis) for axis in op.root_iter_vars]
    return None in extents or math.prod(e for e in extents if e is not None) >= _WORTH_A_CORE


def extent_of(axis: Any) -> int | None:
    """Return the extent of an axis, None where it is symbolic or the axis was made by a schedule."""
    dom = axis.dom
    return dom.extent.value if dom is not None and isinstance(dom.extent, IntImm) else None


# reductions


def _contiguous(op: ComputeOp) -> bool:
    """Return whether a reduction's last axis goes over neighbours in memory in everything that it reads."""
    reduction = op.body[0]
    if not isinstance(reduction, Reduce) or len(op.body) > 1:
        return False
    last: IterVar = op.reduce_axis[-1]
    loads: list[ProducerLoad] = []
    post_order_visit(reduction.source[0], lambda n: loads.append(n) if isinstance(n, ProducerLoad) else None)
    ends = [n.indices[-1] for n in loads if n.indices]
    return any(end is last.var for end in ends) and not any(end is a.var for end in ends for a in op.axis)


def _partial_results(schedule: Any, stage: Any, lanes: int) -> None:
    """Reduce with one partial result a lane, then over the lanes."""
    axes = list(stage.op.axis)
    last = stage.op.reduce_axis[-1]
    extent = extent_of(last)
    width = 1 if extent is None else next(n for n in range(min(lanes, extent), 0, -1) if extent % n == 0)
    if extent is None or width < _WORTHWHILE or extent <= width:
        _in_parallel(stage, axes)
        return
    _, lane = stage.split(last, factor=width)
    partial = schedule[schedule.rfactor(stage.op.output(0), lane, factor_axis=-1)]
    own = list(partial.op.axis)
    partial.reorder(*own[:-1], *partial.op.reduce_axis, own[-1])
    partial.vectorize(own[-1])
    if axes:
        kept = list(stage.op.axis)
        partial.compute_at(stage, kept[-1])
        _at_one_place(stage, kept, partial)


def _at_one_place(stage: Any, axes: list[Any], partial: Any) -> None:
    """Run the loops that partial results are computed in on several cores, as one loop."""
    sizes = [extent_of(a) for a in axes]
    if None in sizes:
        return
    fused = axes[0] if len(axes) == 1 else stage.fuse(*axes)
    partial.compute_at(stage, fused)
    if _is_work(partial.op):
        stage.parallel(fused)
