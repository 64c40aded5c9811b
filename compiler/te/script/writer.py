"""Prints a schedule and its computation as a script."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np

from compiler.ir.expr.primexpr import FloatImm, IntImm, IterVar, PrimExpr, Reduce, SizeVar, StringImm, Var
from compiler.ir.printing.text import tuple_text
from compiler.te.definition.dataflow import post_dfs_order
from compiler.te.definition.operation import ComputeOp, PlaceholderOp, domain
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.program import NotExpressible
from compiler.te.scheduling.primitives import Primitive, primitives_of
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import Stage
from compiler.te.script.expressions import ExpressionWriter
from compiler.te.script.names import Names
from compiler.te.script.reducers import Reducers


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


MAX_LINE = 110
"""Characters of a definition in one line."""


class Definitions:
    """Writes operations."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._reducers = Reducers(names, self._written)

    def lines(self, op: Operation) -> list[str]:
        """Return the lines that define the tensors of an operation."""
        if isinstance(op, PlaceholderOp):
            shape = self._shape(op.shape)
            name = self._names.give(op.output(0), op.name)
            return [f'{name} = te.placeholder({shape}, dtype="{op.dtype}", name="{op.name}")']
        if isinstance(op, ComputeOp):
            return self._compute(op)
        raise NotExpressible(f"{op.name} is a {type(op).__name__}, which a script does not define")

    def _written(self, roots: Sequence[PrimExpr], names: Names) -> tuple[list[str], list[str]]:
        writer = ExpressionWriter(names, self._reducers)
        return writer.write(roots), writer.statements

    def _shape(self, extents: Sequence[PrimExpr]) -> str:
        values, statements = self._written(extents, self._names)
        if statements:
            raise NotExpressible("a shape is a long expression")
        return tuple_text(values)

    def _reduce_axis(self, axis: IterVar) -> str:
        dom = domain(axis)
        (begin, extent), _ = self._written([dom.min, dom.extent], self._names)
        end = extent if isinstance(dom.min, IntImm) and not dom.min.value else f"{begin} + {extent}"
        name = self._names.give(axis.var, axis.var.name)
        self._names.call(axis, name)
        return f'{name} = te.reduce_axis(({begin}, {end}), name="{axis.var.name}")'

    def _compute(self, op: ComputeOp) -> list[str]:
        before = [self._reduce_axis(axis) for axis in op.reduce_axis if axis not in self._names]
        inner = self._names.scope()
        parameters = [inner.give(axis.var, axis.var.name) for axis in op.axes]
        # The outputs of one reduction of a tuple are that reduction, once each.
        values, statements = self._written(op.body[:1] if isinstance(op.body[0], Reduce) else op.body, inner)
        if self._reducers.lines:
            before += self._reducers.lines
            self._reducers.lines = []
        shape = self._shape([domain(axis).extent for axis in op.axes])
        several = len(op.outputs) > 1
        tensors = [self._names.give(t, f"{op.name}_v{t.value_index}" if several else op.name) for t in op.outputs]
        body = values[0] if len(values) == 1 else tuple_text(values)
        return before + _compute_lines(", ".join(tensors), shape, ", ".join(parameters), body, statements, op.name)


def _compute_lines(
    target: str, shape: str, parameters: str, body: str, statements: Sequence[str], name: str
) -> list[str]:
    """Return a call of ``te.compute``, with a function of its own where a lambda would be too long."""
    head = f"lambda {parameters}: " if parameters else "lambda: "
    line = f'{target} = te.compute({shape}, {head}{body}, name="{name}")'
    if not statements and len(line) <= MAX_LINE:
        return [line]
    if not statements and len(head) + len(body) <= MAX_LINE:
        return [f"{target} = te.compute(", f"    {shape},", f"    {head}{body},", f'    name="{name}",', ")"]
    function = f"define_{target.split(',')[0]}"
    return [
        "",
        "",
        f"def {function}({parameters}):",
        *(f"    {statement}" for statement in statements),
        f"    return {body}",
        "",
        "",
        f'{target} = te.compute({shape}, {function}, name="{name}")',
    ]


_MODULES = ("tvm", "te", "tir", "s", "f", "args", "float")
"""Names that mean something else than a tensor or an axis in a script."""


def write_script(
    schedule: Schedule, args: Sequence[Tensor | Var], target: str = "llvm", name: str = "main", title: str = ""
) -> str:
    """Return a Python script that defines a computation, schedules it primitive by primitive, and builds it.

    Tensors and axes have their own names, as far as these are identifiers and differ; the title is the first line of
    the docstring, by default the function's name.

    Examples
    --------
    >>> A = te.placeholder((1024,), name="A")
    >>> B = te.compute((1024,), lambda i: A[i] * 2.0, name="B")
    >>> s = te.create_schedule(B.op)
    >>> outer, inner = s[B].split(B.op.axis[0], factor=16)
    >>> print(write_script(s, [A, B]))
    """
    names = Names(_MODULES)
    operations = post_dfs_order(schedule.outputs)
    unread = (a.op for a in args if isinstance(a, Tensor) and isinstance(a.op, PlaceholderOp))
    operations += dict.fromkeys(op for op in unread if op not in operations)
    definitions = Definitions(names)
    variables = [_variable(a, names) for a in args if isinstance(a, Var)]
    defined = [line for op in operations for line in definitions.lines(op)]
    primitives = PrimitiveWriter(schedule, names).lines()
    outputs = ", ".join(f"{names[op.output(0)]}.op" for op in schedule.outputs)
    listed = ", ".join(names[a] for a in args)
    return "\n".join(
        [
            f'"""{title or name}"""',
            "",
            "import tvm",
            "from tvm import te, tir" if "tir." in "\n".join(defined) else "from tvm import te",
            "",
            *variables,
            *defined,
            "",
            f"s = te.create_schedule({outputs if len(schedule.outputs) == 1 else f'[{outputs}]'})",
            *primitives,
            "",
            f"args = [{listed}]",
            f'f = tvm.build(s, args, target="{target}", name="{name}")',
            "",
        ]
    )


def _variable(variable: Var, names: Names) -> str:
    kind = "te.size_var" if isinstance(variable, SizeVar) else "te.var"
    return f'{names.give(variable, variable.name)} = {kind}("{variable.name}", "{variable.dtype}")'
