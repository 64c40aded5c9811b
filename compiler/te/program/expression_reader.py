"""Decodes expressions from rows; see :mod:`compiler.te.program.kinds`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from compiler.ir.expr.primexpr import CommReducer, IterVar, PrimExpr, Reduce, Var
from compiler.ir.node import Node
from compiler.ir.op import Op
from compiler.te.definition.tensor import Tensor
from compiler.te.program.format import ProgramError
from compiler.te.program.json_values import integer, items, number, text, wrong
from compiler.te.program.kinds import KINDS, FieldType, callable_operators

N = TypeVar("N", bound=Node)

Leaves = dict[str, Callable[[object, str], Var]]
"""For each name that the row of an outer variable begins with, what returns the variable of its second entry."""


def read_rows(
    rows: object, where: str, leaves: Leaves, tensor: Callable[[int, str], Tensor], axes: Sequence[IterVar]
) -> list[Node]:
    """Make the nodes of some rows."""
    reader = _Reader(leaves, tensor, axes)
    for index, row in enumerate(items(rows, where)):
        reader.add(row, f"{where}[{index}]")
    return reader.nodes


class _Reader:
    """Makes a node of each row."""

    def __init__(self, leaves: Leaves, tensor: Callable[[int, str], Tensor], axes: Sequence[IterVar]) -> None:
        self.nodes: list[Node] = []
        self._leaves = leaves
        self._tensor = tensor
        self._axes = axes
        self._operators = callable_operators()

    def add(self, row: object, where: str) -> None:
        """Make the node of a row."""
        name, *fields = items(row, where) or [None]
        leaf = self._leaves.get(name) if isinstance(name, str) else None
        if leaf is not None and len(fields) == 1:
            self.nodes.append(leaf(fields[0], where))
            return
        kind = KINDS.get(name) if isinstance(name, str) else None
        if kind is None or len(fields) != len(kind.fields):
            raise wrong(where, "a kind of expression and its fields", row)
        values = [self._field(holds, value, where) for holds, value in zip(kind.fields.values(), fields, strict=True)]
        self.nodes.append(kind.make(*values))

    def _field(self, holds: FieldType, value: object, where: str) -> object:
        match holds:
            case "expr":
                return self._node(value, where, PrimExpr)
            case "exprs":
                return tuple(self._node(v, where, PrimExpr) for v in items(value, where))
            case "var":
                return self._node(value, where, Var)
            case "vars":
                return tuple(self._node(v, where, Var) for v in items(value, where))
            case "reducer":
                return self._node(value, where, CommReducer)
            case "tensor":
                return self._tensor(integer(value, where), where)
            case "axes":
                return tuple(self._axes[integer(v, where, len(self._axes))] for v in items(value, where))
            case "int":
                return integer(value, where)
            case "float":
                return number(value, where)
            case "operator":
                return self._operator(value, where)
            case "dtype" | "text":
                return text(value, where)

    def _node(self, value: object, where: str, expected: type[N]) -> N:
        n = self.nodes[integer(value, where, len(self.nodes))]
        if not isinstance(n, expected) or (isinstance(n, Reduce) and expected is PrimExpr):
            raise wrong(where, f"made of rows that are {expected.__name__}", n)
        return n

    def _operator(self, value: object, where: str) -> Op:
        op = self._operators.get(text(value, where))
        if op is None:
            raise ProgramError(f"program: {where} calls {value!r}, which is not a pure intrinsic")
        return op
