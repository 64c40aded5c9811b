"""Wraps statements in blocks with the regions that they read and write."""

from __future__ import annotations

from compiler.ir.expr.primexpr import const, is_const_int
from compiler.ir.functor import nodes_of
from compiler.ir.node import rebuild
from compiler.tir.analysis.block_access import get_block_read_write_region
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.stmt import Stmt


def block_of(body: Stmt, allocations: tuple[Buffer, ...] = ()) -> BlockRealize:
    """Return a block that states what its body reads and writes: the body itself where it is one."""
    if isinstance(body, BlockRealize) and is_const_int(body.predicate, 1) and not allocations:
        return body
    # What intrinsics access by pointers, the signatures of the blocks around them say.
    accesses = [*nodes_of(body, BufferRegion), *nodes_of(body, BufferLoad, BufferStore)]
    buffers = {n.buffer.data: n.buffer for n in accesses}
    block = Block((), (), (), "", body, None, allocations)
    reads, writes = get_block_read_write_region(block, buffers)
    return BlockRealize((), const(True), rebuild(block, reads=tuple(reads), writes=tuple(writes)))
