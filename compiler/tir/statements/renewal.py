"""Copies of statements with fresh definitions."""

from __future__ import annotations

from compiler.ir.expr.primexpr import IterVar, Let, PrimExpr, Var
from compiler.ir.functor import Mutator
from compiler.ir.node import duplicate, rebuild
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AllocateConst, AttrStmt, BufferStore, DeclBuffer, For, LetStmt, Stmt


class RenewDefs(Mutator):
    """Rebuilds statements with variables and buffers of their own, where these are defined inside."""

    def __init__(self) -> None:
        self.buffers: dict[Buffer, Buffer] = {}
        self._variables: dict[Var, Var] = {}
        self._axes: dict[IterVar, IterVar] = {}

    def variable(self, var: Var) -> Var:
        """Return the variable that stands for one that is defined here."""
        new = self._variables[var] = duplicate(var, {})
        return new

    def buffer(self, buffer: Buffer) -> Buffer:
        """Return the buffer that stands for one that is defined here, with a pointer and strides of its own."""
        for part in (buffer.data, buffer.elem_offset, *buffer.strides, *buffer.shape):
            if isinstance(part, Var) and part not in self._variables:
                self.variable(part)
        return self._view(buffer)

    def _allocated(self, buffer: Buffer) -> Buffer:
        """Return the buffer that stands for one that a block allocates: its shape is made of what is known around."""
        self.variable(buffer.data)
        return self._view(buffer)

    def _view(self, buffer: Buffer) -> Buffer:
        new = self.buffers.get(buffer)
        if new is None:
            new = self.buffers[buffer] = rebuild(
                buffer,
                data=self._variables.get(buffer.data, buffer.data),
                shape=self._visit_tuple(buffer.shape),
                strides=self._visit_tuple(buffer.strides),
                elem_offset=self.visit(buffer.elem_offset),
            )
        return new

    def visit_Var(self, n: Var) -> PrimExpr:
        """Return the variable that stands for this one."""
        return self._variables.get(n, n)

    def visit_For(self, n: For) -> Stmt:
        """Rebuild a loop with a variable of its own."""
        low, extent = self.visit(n.min), self.visit(n.extent)
        return rebuild(n, loop_var=self.variable(n.loop_var), min=low, extent=extent, body=self.visit(n.body))

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        """Rebuild a mark; one of memory may stand around its allocation."""
        if isinstance(n.node, IterVar):  # a launch; an axis may be launched again within
            if n.node not in self._axes:
                self._axes[n.node] = self.visit(n.node)
            return rebuild(n, node=self._axes[n.node], value=self.visit(n.value), body=self.visit(n.body))
        if not isinstance(n.node, Var):
            return self.visit_Node(n)
        value, body = self.visit(n.value), self.visit(n.body)
        return rebuild(n, node=self.visit(n.node), value=value, body=body)

    def visit_IterVar(self, n: IterVar) -> IterVar:
        """Rebuild an axis with a variable of its own."""
        dom = None if n.dom is None else self.visit(n.dom)
        return rebuild(n, dom=dom, var=self.variable(n.var))

    def visit_LetStmt(self, n: Let | LetStmt) -> PrimExpr | Stmt:
        """Rebuild a definition with a variable of its own."""
        value = self.visit(n.value)
        return rebuild(n, value=value, var=self.variable(n.var), body=self.visit(n.body))

    visit_Let = visit_LetStmt

    def visit_Allocate(self, n: Allocate) -> Stmt:
        """Rebuild an allocation with a pointer of its own."""
        extents, condition = self._visit_tuple(n.extents), self.visit(n.condition)
        pointer = self.variable(n.buffer_var)
        return rebuild(n, buffer_var=pointer, extents=extents, condition=condition, body=self.visit(n.body))

    def visit_AllocateConst(self, n: AllocateConst) -> Stmt:
        """Rebuild an allocation of constants with a pointer of its own."""
        extents, pointer = self._visit_tuple(n.extents), self.variable(n.buffer_var)
        return rebuild(n, buffer_var=pointer, extents=extents, body=self.visit(n.body))

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        """Rebuild a declaration."""
        return rebuild(n, buffer=self._view(n.buffer), body=self.visit(n.body))

    def visit_Block(self, n: Block) -> Stmt:
        """Return another block, even where it defines nothing: a schedule refers to blocks by identity."""
        axes = self._visit_tuple(n.iter_vars)
        allocated = tuple([self._allocated(buffer) for buffer in n.alloc_buffers])
        matches = []
        for match in n.match_buffers:
            source = self.visit(match.source)
            matches.append(rebuild(match, buffer=self.buffer(match.buffer), source=source))
        parts = {
            "iter_vars": axes,
            "reads": self._visit_tuple(n.reads),
            "writes": self._visit_tuple(n.writes),
            "alloc_buffers": allocated,
            "match_buffers": tuple(matches),
            "init": None if n.init is None else self.visit(n.init),
            "body": self.visit(n.body),
        }
        return duplicate(n, parts)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        """Rebuild a load."""
        indices, predicate = self._visit_tuple(n.indices), self._visit_optional(n.predicate)
        return rebuild(n, buffer=self._view(n.buffer), indices=indices, predicate=predicate)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        """Rebuild a store."""
        indices, predicate = self._visit_tuple(n.indices), self._visit_optional(n.predicate)
        value = self.visit(n.value)
        return rebuild(n, buffer=self._view(n.buffer), value=value, indices=indices, predicate=predicate)

    def visit_BufferRegion(self, n: BufferRegion) -> BufferRegion:
        """Rebuild a region."""
        return rebuild(n, buffer=self._view(n.buffer), region=self._visit_tuple(n.region))


def renew_defs(func: PrimFunc) -> PrimFunc:
    """Return a structurally equal function with parameters, variables and buffers of its own."""
    renewal = RenewDefs()
    params = {param: renewal.variable(param) for param in func.params}
    buffers = {params[param]: renewal.buffer(buffer) for param, buffer in func.buffer_map.items()}
    return rebuild(func, params=tuple(params.values()), buffer_map=buffers, body=renewal.visit(func.body))
