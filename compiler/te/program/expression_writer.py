"""Encodes expressions as rows; see :mod:`compiler.te.program.kinds`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var
from compiler.ir.node import Node
from compiler.ir.op import Op
from compiler.te.definition.tensor import Tensor
from compiler.te.program.format import NotExpressible
from compiler.te.program.json_values import json_number
from compiler.te.program.kinds import KINDS, FieldType, Kind, callable_operators

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
