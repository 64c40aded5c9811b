"""Replaying recorded primitives onto a fresh schedule of the same outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from compiler.ir.error import ScheduleError
from compiler.ir.node import Node
from compiler.ir.origin import derived_from
from compiler.ir.primexpr import IterVar
from compiler.te.primitives import Primitive
from compiler.te.schedule_state import ScheduleState
from compiler.te.stage import Stage
from compiler.te.tensor import Operation, Tensor


def replay_onto(schedule: ScheduleState, primitives: Sequence[Primitive]) -> Callable[[Tensor], Tensor]:
    """Apply primitives to a schedule that has none yet, and return how tensors correspond.

    The origins are those of the first time, so that a replayed step still points at the user's lines.
    """
    known = _Correspondence(schedule)
    for p in primitives:
        target = schedule if p.index is None else schedule.stages[p.index]
        args = tuple(known.of(a) for a in p.args)
        kwargs = {key: known.of(value) for key, value in p.kwargs.items()}
        method = getattr(type(target), p.name).__wrapped__
        schedule.applying = True
        try:
            with derived_from(p.span):
                result = method(target, *args, **kwargs)
        finally:
            schedule.applying = False
        operations = tuple(stage.op for stage in schedule.stages)
        known.pair(p.result, result)
        known.pair(p.operations, operations)
        schedule.primitives.append(replace(p, args=args, kwargs=kwargs, result=result, operations=operations))
    return known.tensor


class _Correspondence:
    """Which axis, tensor or operation of the replayed schedule stands for one of the original."""

    def __init__(self, schedule: ScheduleState) -> None:
        self._schedule = schedule
        self._new: dict[Node, Node] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, Stage):
            return self._schedule[self.of(value.origin_op)]
        if isinstance(value, (list, tuple)):
            return type(value)(self.of(v) for v in value)
        return self._new.get(value, value) if isinstance(value, Node) else value

    def tensor(self, tensor: Tensor) -> Tensor:
        """Return the tensor that stands for ``tensor``."""
        new: Tensor = self.of(tensor)
        if self._schedule.find(new) is None:
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
