"""Replacement of buffers, regions and statements within blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from compiler.ir.expr.primexpr import PrimExpr, Var, const
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.ir.types import PointerType, PrimType
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.stmt import BufferStore, SeqStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator


class BlockMutator(StmtMutator):
    """Rebuilds statements, and notes which block becomes which."""

    def __init__(self) -> None:
        self.reuse: dict[Block, Block] = {}  # old blocks, and the new ones that take their places

    def visit_Block(self, n: Block) -> Stmt:
        """Rebuild a block, and note what it becomes."""
        new = self.rewrite_block(n)
        if new is not n:
            self.reuse[n] = new
        return new

    def rewrite_block(self, n: Block) -> Block:
        """Return what a block becomes; by default with what is inside of it rebuilt."""
        return self.visit_Node(n)


_Access = TypeVar("_Access", BufferLoad, BufferStore, BufferRegion)


class ReplaceBuffers(BlockMutator):
    """Replaces buffers in all accesses, regions and uses of their pointers."""

    def __init__(self, buffers: Mapping[Buffer, Buffer]) -> None:
        BlockMutator.__init__(self)
        self._buffers = dict(buffers)
        self._pointers = {old.data: new.data for old, new in buffers.items()}

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        """Rebuild an expression with its operands."""
        return self.visit_Node(n)

    def visit_Var(self, n: Var) -> PrimExpr:
        """Replace a pointer."""
        return self._pointers.get(n, n)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        """Replace the buffer of a load."""
        return self._accessed(n, indices=self._visit_tuple(n.indices))

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        """Replace the buffer of a store."""
        return self._accessed(n, value=self.visit(n.value), indices=self._visit_tuple(n.indices))

    def visit_BufferRegion(self, n: BufferRegion) -> BufferRegion:
        """Replace the buffer of a region."""
        return self._accessed(n, region=self._visit_tuple(n.region))

    def _accessed(self, n: _Access, **changes: object) -> _Access:
        return rebuild(n, buffer=self._replaced(n.buffer), **changes)

    def _replaced(self, buffer: Buffer) -> Buffer:
        """Return what a buffer, or a view of the same memory, becomes."""
        new = self._buffers.get(buffer)
        if new is None:
            new = self._buffers[buffer] = rebuild(buffer, data=self._pointers.get(buffer.data, buffer.data))
        return new

    def rewrite_block(self, n: Block) -> Block:
        """Replace the buffers that a block accesses; those that it allocates as well."""
        new: Block = self.visit_Node(n)
        allocated = tuple([self._buffers.get(buffer, buffer) for buffer in n.alloc_buffers])
        return rebuild(new, alloc_buffers=allocated)


def renamed_buffer(buffer: Buffer, name: str, scope: str, shape: Sequence[PrimExpr] | None = None) -> Buffer:
    """Return a buffer like another one, with memory of its own."""
    pointer = Var(name, "handle", PointerType(PrimType(buffer.dtype), scope))
    own = buffer.shape if shape is None else tuple(shape)
    start = const(0, own[0].dtype if own else "int32")
    with derived_from(buffer.span):
        return rebuild(buffer, data=pointer, name=name, shape=own, strides=(), elem_offset=start)


def statements_of(stmt: Stmt) -> tuple[Stmt, ...]:
    """Return the statements of a sequence, or the statement alone."""
    return stmt.seq if isinstance(stmt, SeqStmt) else (stmt,)


def inserted(body: Stmt, position: int, stmt: Stmt) -> Stmt:
    """Return a body with one more statement before the one at ``position``, counted from 0."""
    before = statements_of(body)
    with derived_from(body.span):
        return SeqStmt((*before[:position], stmt, *before[position:]))
