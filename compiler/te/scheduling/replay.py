"""Replays recorded primitives on a fresh schedule of the same outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from compiler.ir.error import ScheduleError
from compiler.ir.expr.primexpr import IterVar
from compiler.ir.node import Node
from compiler.ir.origin import derived_from
from compiler.te.definition.operation import PlaceholderOp
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.primitives import Primitive
from compiler.te.scheduling.stage import Stage
from compiler.te.scheduling.state import ScheduleState


def replay_onto(
    schedule: ScheduleState, primitives: Sequence[Primitive], definitions: Mapping[Operation, Operation] | None = None
) -> Callable[[Tensor], Tensor]:
    """Apply recorded primitives to a schedule that has none yet, and return the map from original tensors to its own.

    The origins are those of the recorded calls, so that a replayed step still points at the user's lines.  Where the
    schedule is one of other outputs, ``definitions`` says what stands for the operations of the original.
    """
    correspondence = _Correspondence(schedule)
    for old, new in (definitions or {}).items():
        correspondence.pair(old, new)
    for p in primitives:
        target = schedule if p.index is None else schedule.target_at(p.index)
        args = tuple(correspondence.of(a) for a in p.args)
        kwargs = {key: correspondence.of(value) for key, value in p.kwargs.items()}
        method = getattr(type(target), p.name).__wrapped__
        schedule.applying = True
        try:
            with derived_from(p.span):
                result = method(target, *args, **kwargs)
        finally:
            schedule.applying = False
        operations = tuple(stage.op for stage in schedule.stages)
        correspondence.pair(p.result, result)
        correspondence.pair(p.operations, operations)
        schedule.primitives.append(replace(p, args=args, kwargs=kwargs, result=result, operations=operations))
    return correspondence.tensor


class _Correspondence:
    """Maps axes, tensors and operations of the original to those of the replayed schedule."""

    def __init__(self, schedule: ScheduleState) -> None:
        self._schedule = schedule
        self._new: dict[Node, Node] = {}

    def of(self, value: object) -> Any:
        if isinstance(value, Stage):
            return self._schedule[self.of(value.origin_op)]
        if isinstance(value, (list, tuple)):
            return type(value)(self.of(v) for v in value)
        return self._new.get(value, value) if isinstance(value, Node) else value

    def tensor(self, tensor: Tensor) -> Tensor:
        """Return the tensor that corresponds to ``tensor``."""
        new: Tensor = self.of(tensor)
        if self._schedule.find(new) is None and not isinstance(new.op, PlaceholderOp):  # one may be read by nothing
            raise ScheduleError(f"replay: {tensor.name!r} is made by a later primitive")
        return new

    def pair(self, old: Any, new: Any) -> None:
        if old is new:
            return
        if isinstance(old, (list, tuple)):
            for a, b in zip(old, new, strict=True):
                self.pair(a, b)
        elif isinstance(old, (IterVar, Tensor)):
            self._new[old] = new
            if isinstance(old, Tensor):
                self.pair(old.op, new.op)
        elif isinstance(old, Operation) and old not in self._new:
            self._new[old] = new
            self.pair(old.root_iter_vars, new.root_iter_vars)
            self.pair(old.outputs, new.outputs)
