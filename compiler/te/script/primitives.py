"""Prints schedule primitives as Python calls with axes by name."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np

from compiler.ir.expr.primexpr import FloatImm, IntImm, IterVar, PrimExpr, StringImm
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.program import NotExpressible
from compiler.te.scheduling.primitives import Primitive, primitives_of
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import Stage
from compiler.te.script.names import Names


class PrimitiveWriter:
    """Writes the primitives of a schedule."""

    def __init__(self, schedule: Schedule, names: Names) -> None:
        self._schedule = schedule
        self._names = names
        self._lines: list[str] = []
        fresh, _ = schedule.replay(0)
        self._operations: Sequence[Operation] = [stage.op for stage in fresh.stages]
        self._tensors = {op: names[op.output(0)] for op in self._operations}
        """Of each operation the tensor whose stage computes it."""

    def lines(self) -> list[str]:
        """Return the lines of all primitives, and of the axes that they name."""
        for primitive in self._schedule.primitives:
            self._write(primitive)
        return self._lines

    def _write(self, p: Primitive) -> None:
        call = f"{self._target(p)}.{p.name}({', '.join(self._arguments(p))})"
        self._made(p)
        results = self._results(p)
        self._lines.append(f"{results} = {call}" if results else call)

    def _target(self, p: Primitive) -> str:
        if p.index is None:
            return "s"
        if p.index < 0:
            raise NotExpressible("it schedules groups of stages, which a script of its own does not say yet")
        return f"s[{self._tensors[self._operations[p.index]]}]"

    def _made(self, p: Primitive) -> None:
        """Note the operations after a primitive; one that took the place of another computes the same tensor."""
        made = [t.op for t in _listed(p.result) if isinstance(t, Tensor)]
        replaced = [op for op in self._operations if op not in p.operations]
        replacements = [op for op in p.operations if op not in self._tensors and op not in made]
        for old, new in zip(replaced, replacements, strict=True):
            self._tensors[new] = self._tensors[old]
        for op in dict.fromkeys(made):
            self._tensors[op] = self._names.give(op.output(0), op.name)
        self._operations = p.operations

    def _results(self, p: Primitive) -> str:
        named = []
        for value in _listed(p.result):
            if isinstance(value, IterVar):
                named.append(self._names.give(value, value.var.name))
            elif isinstance(value, Tensor):
                named.append(self._names[value] if value in self._names else self._names.give(value, value.name))
        return ", ".join(named) + ("," if isinstance(p.result, (list, tuple)) and len(named) == 1 else "")

    # arguments

    def _arguments(self, p: Primitive) -> list[str]:
        owner = Schedule if p.index is None else Stage
        parameters = list(inspect.signature(primitives_of(owner)[p.name]).parameters.values())[1:]
        by_keyword = all(q.kind is q.POSITIONAL_OR_KEYWORD for q in parameters)
        texts = []
        for place, value in enumerate(p.args):
            bare = not by_keyword or isinstance(value, (IterVar, Tensor, Operation, Stage, list, tuple, str))
            texts.append(self._value(value) if bare else f"{parameters[place].name}={self._value(value)}")
        return texts + [f"{name}={self._value(value)}" for name, value in p.kwargs.items()]

    def _operation_of(self, stage: Stage) -> Operation:
        """Return what a stage computes at this primitive; a cache that is written later gives it another operation."""
        if stage.op in self._tensors:
            return stage.op
        of_name = [op for op in self._operations if op.name == stage.op.name]
        if len(of_name) != 1:
            raise NotExpressible(f"it names the stage of {stage.op.name!r} before a cache takes its place")
        return of_name[0]

    def _value(self, value: object) -> str:
        match value:
            case list():
                return f"[{', '.join(map(self._value, value))}]"
            case tuple():
                return f"({', '.join(map(self._value, value))}{',' if len(value) == 1 else ''})"
            case str():
                return f'"{value}"' if value.isidentifier() else repr(value)
            case None | bool() | int() | float():
                return repr(value)
            case np.bool_() | np.integer() | np.floating():
                return repr(value.item())
            case IntImm() | FloatImm() | StringImm():
                return repr(value.value)
            case IterVar():
                return self._axis(value)
            case Stage():
                return f"s[{self._tensors[self._operation_of(value)]}]"
            case Tensor():
                return self._tensor(value)
            case Operation():
                return f"{self._tensor(value.output(0))}.op"
            case PrimExpr():
                raise NotExpressible("an argument of a primitive is an expression")
        raise NotExpressible(f"an argument of a primitive is a {type(value).__name__}, which a script does not say")

    def _tensor(self, tensor: Tensor) -> str:
        if tensor in self._names:
            return self._names[tensor]
        return f"s[{self._tensors[tensor.op]}].op.output({tensor.value_index})"

    def _axis(self, axis: IterVar) -> str:
        """Return the name of an axis; those of an operation are named before the first primitive that takes one."""
        if axis not in self._names:
            self._name_axes(axis)
        return self._names[axis]

    def _name_axes(self, axis: IterVar) -> None:
        if axis.iter_type == IterVar.ThreadIndex:
            name = self._names.give(axis, axis.var.name)
            self._lines.append(f'{name} = te.thread_axis("{axis.thread_tag}")')
            return
        for op in self._operations:
            for kind, axes in (("axis", op.axis), ("reduce_axis", op.reduce_axis)):
                if any(a is axis for a in axes):
                    named = [self._names.give(a, a.var.name) for a in axes]
                    tensor = self._tensors[op]
                    listed = f"{named[0]}," if len(named) == 1 else ", ".join(named)
                    self._lines.append(f"{listed} = s[{tensor}].op.{kind}")
                    return
        raise NotExpressible(f"the axis {axis.var.name!r} belongs to none of its operations")


def _listed(result: object) -> list[object]:
    if isinstance(result, (list, tuple)):
        return list(result)
    return [] if result is None else [result]
