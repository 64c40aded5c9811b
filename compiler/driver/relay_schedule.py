"""The schedule of a kernel: what its hardest operator says, else one that fits any group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler import te
from compiler.ir import dtype as dt
from compiler.ir.functor import Visitor
from compiler.ir.primexpr import Call, Div, IntImm, Select
from compiler.relay.operator import OpPattern
from compiler.target.codegen.llvm.vector_width import vector_bits
from compiler.target.target import Target
from compiler.te.operation import ComputeOp

_PARALLEL_ENOUGH = 64
"""Turns of the outer loop that no machine has more cores than."""


def schedule_group(calls: Sequence[tuple[Any, list[Any]]], outputs: Sequence[Any], target: Target) -> Any:
    """Return the schedule of a fused group.

    Parameters
    ----------
    calls : sequence of (Call, list of Tensor)
        The group's operators and what they compute, in order of evaluation.
    outputs : sequence of Tensor
    target : Target
    """
    hardest = max(calls, key=lambda item: item[0].op.pattern, default=None)
    if hardest is not None and hardest[0].op.pattern != OpPattern.OPAQUE and hardest[0].op.schedule is not None:
        call = hardest[0]
        return call.op.schedule(call.attrs, list(outputs), target)
    return plain_schedule(outputs, target)


def plain_schedule(outputs: Sequence[Any], target: Target) -> Any:
    """Return a schedule for any computation: cheap steps inlined, outer loops parallel, inner ones vectors."""
    schedule = te.create_schedule(list(dict.fromkeys(t.op for t in outputs)))
    readers = _readers(schedule)
    kept = {t.op for t in outputs}
    for stage in schedule.stages:
        op = stage.op
        if isinstance(op, ComputeOp) and op not in kept and _is_inlined(op, readers.get(op, [])):
            stage.compute_inline()
        elif isinstance(op, ComputeOp):
            kept.add(op)
    for stage in schedule.stages:
        if isinstance(stage.op, ComputeOp) and stage.op in kept:
            _loops(schedule[stage.op], vector_bits(target))
    return schedule


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


def _loops(stage: Any, bits: int) -> None:
    axes = list(stage.op.axis)
    if not axes:
        return
    lanes = max(bits // dt.parse(stage.op.outputs[0].dtype).bits, 1)
    *outer, last = axes
    extent = _extent(last)
    inner = None
    if lanes > 1 and extent is not None and extent >= 4:
        last, inner = stage.split(last, factor=_vector(extent, lanes))
    reduced = list(stage.op.reduce_axis)
    stage.reorder(*outer, last, *reduced, *([inner] if inner is not None else []))
    if inner is not None:
        stage.vectorize(inner)
    _in_parallel(stage, [*outer, last])


def _vector(extent: int, lanes: int) -> int:
    """Return the number of lanes of a vector that divides an extent, else the widest."""
    return next((n for n in range(min(lanes, extent), lanes // 4, -1) if extent % n == 0), min(lanes, extent))


def _in_parallel(stage: Any, axes: list[Any]) -> None:
    """Fuse outer loops until there are turns enough for every core."""
    turns, count = 1, 0
    for axis in axes:
        if turns >= _PARALLEL_ENOUGH or (extent := _extent(axis)) is None:
            break
        turns, count = turns * extent, count + 1
    if count == 0 or turns < 2:
        return
    fused = axes[0] if count == 1 else stage.fuse(*axes[:count])
    stage.parallel(fused)


def _extent(axis: Any) -> int | None:
    dom = axis.dom
    if dom is None or not isinstance(dom.extent, IntImm):
        return _PARALLEL_ENOUGH if dom is None else None
    return dom.extent.value
