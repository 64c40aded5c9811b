"""Renames the functions that calls refer to within a module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.ir.functor import Mutator
from compiler.ir.node import Node, rebuild


class CallRenamer(Mutator):
    """Replaces global variables, those of calls too, in functions of any level."""

    def __init__(self, replacements: Mapping[Node, Node]) -> None:
        self._replacements = replacements
        self._done: dict[Node, object] = {}

    def visit(self, n: Node, *args: object) -> Any:
        """Return the node with the variables replaced; what is used twice in a graph stays one node."""
        if n not in self._done:
            self._done[n] = super().visit(n, *args)
        return self._done[n]

    def visit_GlobalVar(self, n: Node) -> Node:
        return self._replacements.get(n, n)

    def visit_PrimFunc(self, n: Any) -> Any:
        return rebuild(n, body=self.visit(n.body))

    def visit_Node(self, n: Node) -> Any:
        new = super().visit_Node(n)
        callee = self._replacements.get(getattr(new, "op", new))
        return new if callee is None else rebuild(new, op=callee)
