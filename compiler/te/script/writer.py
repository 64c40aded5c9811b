"""Prints a schedule and its computation as a script."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Reduce, SizeVar, Var
from compiler.te.definition.dataflow import post_dfs_order
from compiler.te.definition.operation import ComputeOp, PlaceholderOp, domain
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.program import NotExpressible
from compiler.te.scheduling.schedule import Schedule
from compiler.te.script.expressions import ExpressionWriter, tuple_text
from compiler.te.script.names import Names
from compiler.te.script.primitives import PrimitiveWriter
from compiler.te.script.reducers import Reducers

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
