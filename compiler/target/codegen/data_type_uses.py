"""A visitor of the data types that a function uses."""

from __future__ import annotations

from abc import ABC, abstractmethod

from compiler.ir.expr.primexpr import Cast, Var
from compiler.ir.functor import Visitor
from compiler.ir.node import Node
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, BufferStore, For, LetStmt


class DataTypeUses(ABC, Visitor):
    """Calls a method for the data type of every named entity of a function, with the node it occurs in."""

    @abstractmethod
    def require(self, dtype: str, what: str, n: Node) -> None:
        """Check a data type, and raise an error if it is not supported."""

    def require_of(self, func: PrimFunc) -> None:
        """Visit a function."""
        for param in func.params:
            self.require(param.dtype, param.name, param)
        self.visit(func.body)

    def visit_Cast(self, n: Cast) -> None:
        self.require(n.dtype, f"the conversion {n}", n)
        self.visit_Node(n)

    def visit_BufferLoad(self, n: BufferLoad | BufferStore) -> None:
        self.buffer(n.buffer, n)

    visit_BufferStore = visit_BufferLoad

    def buffer(self, buffer: Buffer, n: BufferLoad | BufferStore) -> None:
        """Visit the buffer of an access."""
        self.require(buffer.dtype, buffer.name, n)
        self.visit_Node(n)

    def visit_Allocate(self, n: Allocate) -> None:
        self._variable(n.dtype, n.buffer_var, n)

    def visit_LetStmt(self, n: LetStmt) -> None:
        self._variable(n.var.dtype, n.var, n)

    def visit_For(self, n: For) -> None:
        self._variable(n.loop_var.dtype, n.loop_var, n)

    def _variable(self, dtype: str, var: Var, n: Node) -> None:
        self.require(dtype, var.name, n)
        self.visit_Node(n)
