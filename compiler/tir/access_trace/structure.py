"""The structure of a loop nest without its extents, which different sizes of a program share."""

from __future__ import annotations

from typing import TypeAlias

from compiler.ir.functor import Visitor, nodes_of
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, BufferStore, For, IfThenElse

Structure: TypeAlias = tuple[object, ...]
"""Nested tuples: loops, conditions and stores in their order."""


def loop_structure(func: PrimFunc) -> Structure:
    """Return the loops, conditions and stores of a function, without extents and indices.

    Copies of one statement, as unrolling makes them, count once.
    """
    reader = _Structure()
    reader.visit(func.body)
    return tuple(reader.parts)


class _Structure(Visitor):
    def __init__(self) -> None:
        self.parts: list[Structure] = []

    def _nested(self, head: tuple[object, ...], *bodies: object) -> None:
        outer, nested = self.parts, []
        for body in bodies:
            self.parts = []
            if body is not None:
                self.visit(body)
            nested.append(tuple(self.parts))
        self.parts = outer
        self._add((*head, *nested))

    def _add(self, part: Structure) -> None:
        if not self.parts or self.parts[-1] != part:
            self.parts.append(part)

    def visit_For(self, n: For) -> None:
        self._nested(("for", n.loop_var.name, int(n.kind)), n.body)

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        self._nested(("if",), n.then_case, n.else_case)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        self._nested(("attr", n.attr_key), n.body)

    def visit_Allocate(self, n: Allocate) -> None:
        self._nested(("allocate", n.buffer_var.name), n.body)

    def visit_BufferStore(self, n: BufferStore) -> None:
        names = {load.buffer.data.name for load in nodes_of(n.value, BufferLoad)}
        self._add(("store", n.buffer.data.name, tuple(sorted(names))))
