"""Prints tensor definitions as Python."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Reduce
from compiler.te.definition.operation import ComputeOp, PlaceholderOp, domain
from compiler.te.definition.tensor import Operation
from compiler.te.program import NotExpressible
from compiler.te.script.expressions import ExpressionWriter, tuple_text
from compiler.te.script.names import Names
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
