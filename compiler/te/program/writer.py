"""Serialises a schedule and its computation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Range, SizeVar, Var
from compiler.ir.node import Node
from compiler.ir.op import Op
from compiler.te.definition.dataflow import post_dfs_order
from compiler.te.definition.operation import ComputeOp, PlaceholderOp, domain
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.program.format import MAX_BYTES, VERSION, NotExpressible, Values
from compiler.te.program.json_values import json_number
from compiler.te.program.kinds import KINDS, FieldType, Kind, callable_operators
from compiler.te.scheduling.primitives import Primitive
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import Stage

Row = list[object]
Leaf = Callable[[Var], Row]
"""Returns the row of a variable that is defined outside of the expressions."""


class ExpressionTable:
    """Writes expressions that may share nodes; a row names only earlier ones."""

    def __init__(
        self, leaf: Leaf, tensor_number: Callable[[Tensor], int], axis_number: Callable[[IterVar], int]
    ) -> None:
        self.rows: list[Row] = []
        self._leaf = leaf
        self._tensor_number = tensor_number
        self._axis_number = axis_number
        self._numbers: dict[Node, int] = {}
        self._local: set[Var] = set()
        self._operators = callable_operators()

    def add(self, e: PrimExpr) -> int:
        """Write an expression, and what it is made of, each node once."""
        todo: list[tuple[Node, bool]] = [(e, False)]
        while todo:
            n, parts_written = todo.pop()
            if n in self._numbers:
                continue
            if parts_written:
                self._write(n)
                continue
            todo.append((n, True))
            todo.extend((part, False) for part in reversed(self._parts(n)))
        return self._numbers[e]

    def _parts(self, n: Node) -> list[Node]:
        """Return the nodes whose rows come before that of ``n``."""
        parts: list[Node] = []
        kind = _kind(n)
        for name, holds in kind.fields.items():
            if holds in ("expr", "var", "reducer"):
                parts.append(getattr(n, name))
            elif holds in ("exprs", "vars"):
                parts.extend(getattr(n, name))
        self._local.update(_defined(n, kind))
        return parts

    def _write(self, n: Node) -> None:
        if isinstance(n, Var) and n not in self._local:
            row = self._leaf(n)
        else:
            fields = _kind(n).fields.items()
            row = [type(n).__name__, *(self._field(holds, getattr(n, name)) for name, holds in fields)]
        self._numbers[n] = len(self.rows)
        self.rows.append(row)

    def _field(self, holds: FieldType, value: Any) -> object:
        match holds:
            case "expr" | "var" | "reducer":
                return self._numbers[value]
            case "exprs" | "vars":
                return [self._numbers[v] for v in value]
            case "tensor":
                return self._tensor_number(value)
            case "axes":
                return [self._axis_number(axis) for axis in value]
            case "operator":
                return self._operator(value)
            case "float":
                return json_number(value)
            case _:
                return value

    def _operator(self, op: Op | Node) -> str:
        name = getattr(op, "name", "")
        if self._operators.get(name) is not op:
            raise NotExpressible(f"it calls {name or op}, which is not a pure intrinsic")
        return str(name)


def _kind(n: Node) -> Kind:
    kind = KINDS.get("Var" if isinstance(n, Var) else type(n).__name__)
    if kind is None or not isinstance(n, kind.node):
        raise unsupported(n)
    return kind


def _defined(n: Node, kind: Kind) -> Sequence[Var]:
    """Return the variables that the row of ``n`` defines for the rows that it names."""
    defined: list[Var] = []
    for name, holds in kind.fields.items():
        if holds == "var":
            defined.append(getattr(n, name))
        elif holds == "vars":
            defined.extend(getattr(n, name))
    return defined


def unsupported(value: object) -> NotExpressible:
    """Return the error about something that no text can hold."""
    return NotExpressible(f"it contains a {type(value).__name__}, which cannot be written as data")


Object = dict[str, object]


def write_program(schedule: Schedule, args: Sequence[Tensor | Var], target: str = "llvm", name: str = "main") -> str:
    """Return a schedule, with its definitions and the primitives that were applied, as text.

    Spans are left out, and so are attributes of operations, which lowering does not read.
    """
    program = _Writer(schedule, args).program()
    text = json.dumps(program | {"target": target, "name": name}, separators=(",", ":"), allow_nan=False)
    if len(text) > MAX_BYTES:
        raise NotExpressible(f"it takes {len(text):,} bytes as data, of {MAX_BYTES:,} that it may take")
    return text


class _Writer:
    """Writes one schedule."""

    def __init__(self, schedule: Schedule, args: Sequence[Tensor | Var]) -> None:
        self._schedule = schedule
        self._args = args
        self._operations = post_dfs_order(schedule.outputs)
        unread = (a.op for a in args if isinstance(a, Tensor) and isinstance(a.op, PlaceholderOp))
        self._operations += dict.fromkeys(op for op in unread if op not in self._operations)
        self._variables: dict[Var, int] = {}
        self._axes: dict[IterVar, int] = {}
        self._axis_of: dict[Var, IterVar] = {}
        for axis in self._declared_axes():
            self._axes.setdefault(axis, len(self._axes))
            self._axis_of[axis.var] = axis
        self._values = Values(self._axes)

    def _declared_axes(self) -> Iterator[IterVar]:
        """Yield the axes that are made before the operations: those of reductions and of threads."""
        for op in self._operations:
            yield from op.reduce_axis
        for p in self._schedule.primitives:
            for value in (*p.args, *p.kwargs.values()):
                if isinstance(value, IterVar) and value.iter_type == IterVar.ThreadIndex:
                    yield value

    def program(self) -> Object:
        operations = [self._operation(op) for op in self._operations]
        outputs = [self._number(op) for op in self._schedule.outputs]
        primitives = [self._primitive(p) for p in self._schedule.primitives]
        arguments = [self._argument(a) for a in self._args]
        axes = [self._axis(axis) for axis in self._axes]
        return {
            "version": VERSION,
            "variables": [[v.name, v.dtype, isinstance(v, SizeVar)] for v in self._variables],
            "axes": axes,
            "operations": operations,
            "outputs": outputs,
            "primitives": primitives,
            "arguments": arguments,
        }

    # numbers

    def _number(self, value: Node) -> int:
        number = self._values.number_of(value)
        if number is None:
            raise NotExpressible(f"{value} belongs to none of its operations")
        return number

    def _axis_number(self, axis: IterVar) -> int:
        return self._axes[axis]

    def _outer_variable(self, var: Var) -> list[object]:
        """Return the row of a variable that is made before the operations; one of no axis is declared here."""
        if var in self._axis_of:
            return ["axis", self._axes[self._axis_of[var]]]
        return ["variable", self._variables.setdefault(var, len(self._variables))]

    def _rows(self, leaf: Leaf) -> ExpressionTable:
        return ExpressionTable(leaf, self._number, self._axis_number)

    def _expressions(self, roots: Sequence[PrimExpr]) -> Object:
        """Write expressions that are not part of a computation: extents, arguments of primitives."""
        rows = self._rows(self._outer_variable)
        numbers = [rows.add(e) for e in roots]
        return {"rows": rows.rows, "roots": numbers}

    # operations

    def _operation(self, op: Operation) -> Object:
        if isinstance(op, PlaceholderOp):
            written: Object = {"placeholder": op.name, "dtype": op.dtype, "shape": self._expressions(op.shape)}
        elif isinstance(op, ComputeOp):
            written = self._compute(op)
        else:
            raise unsupported(op)
        self._values.add(op)
        return written

    def _compute(self, op: ComputeOp) -> Object:
        for axis in op.axes:
            begin = domain(axis).min
            if not isinstance(begin, IntImm) or begin.value:
                raise NotExpressible(f"axis {axis.var.name!r} of {op.name!r} does not begin at zero")
        places = {axis.var: place for place, axis in enumerate(op.axes)}

        def leaf(var: Var) -> list[object]:
            return ["index", places[var]] if var in places else self._outer_variable(var)

        rows = self._rows(leaf)
        return {
            "compute": op.name,
            "tag": op.tag,
            "axes": [axis.var.name for axis in op.axes],
            "shape": self._expressions([domain(axis).extent for axis in op.axes]),
            "body": [rows.add(e) for e in op.body],
            "rows": rows.rows,
        }

    def _axis(self, axis: IterVar) -> Object:
        """Write an axis of a reduction or of threads."""
        kind = "thread" if axis.iter_type == IterVar.ThreadIndex else "reduce"
        written: Object = {"name": axis.var.name, "kind": kind, "tag": axis.thread_tag}
        if isinstance(axis.dom, Range):
            written["domain"] = self._expressions([axis.dom.min, axis.dom.extent])
        return written

    # primitives

    def _primitive(self, p: Primitive) -> Object:
        written: Object = {
            "primitive": p.name,
            "stage": p.index,
            "arguments": [self._argument(a) for a in p.args],
            "named": {name: self._argument(a) for name, a in p.kwargs.items()},
            "label": p.label,
            "line": p.line,
        }
        self._values.add(p.result)
        self._values.add(p.operations)
        return written

    def _argument(self, value: object) -> object:
        if isinstance(value, list):
            return [self._single(v) for v in value]
        if isinstance(value, tuple):
            return {"tuple": [self._single(v) for v in value]}
        return self._single(value)

    def _single(self, value: object) -> object:
        """Write an argument, or one of several that are passed as a list."""
        match value:
            case None | bool() | int() | float() | str():
                return value
            case np.bool_() | np.integer() | np.floating():
                return value.item()
            case Stage():
                return {"stage": self._number(value.origin_op)}
            case IterVar() if value in self._axes:
                return {"axis": self._axes[value]}
            case IterVar() | Tensor() | Operation():
                return {"value": self._number(value)}
            case PrimExpr():
                return self._expressions([value])
        raise unsupported(value)
