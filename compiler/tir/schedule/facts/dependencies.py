"""Dependences between the blocks of a scope."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from compiler.ir.functor import post_order
from compiler.tir.schedule.sref import BlockScope, Dependency, DepKind, StmtSRef
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.stmt import BufferStore


def scope_of_blocks(blocks: Sequence[StmtSRef]) -> BlockScope:
    """Return the scope that blocks directly inside of a block make, with their dependencies."""
    writers: dict[Buffer, list[StmtSRef]] = {}
    readers: dict[Buffer, list[StmtSRef]] = {}
    dependencies: dict[tuple[StmtSRef, StmtSRef, DepKind], Dependency] = {}

    def depend(sources: Sequence[StmtSRef], block: StmtSRef, kind: DepKind) -> None:
        for source in sources:
            if source is not block:
                dependencies.setdefault((source, block, kind), Dependency(source, block, kind))

    for block in blocks:
        reads, writes = accessed_buffers(block.block)
        for buffer in reads:
            depend(writers.get(buffer, ()), block, DepKind.RAW)
        for buffer in writes:
            depend(writers.get(buffer, ()), block, DepKind.WAW)
        for buffer in writes:
            depend(readers.get(buffer, ()), block, DepKind.WAR)
        for buffer in reads:
            readers.setdefault(buffer, []).append(block)
        for buffer in writes:
            writers.setdefault(buffer, []).append(block)
    return BlockScope(blocks, dependencies.values())


@lru_cache(maxsize=4096)
def accessed_buffers(block: Block) -> tuple[tuple[Buffer, ...], tuple[Buffer, ...]]:
    """Return the buffers that a block reads and writes: those of its signature, then those that it lacks.

    The signatures of the blocks around the parts of a partitioned loop lack all of them, and those of blocks whose
    indices are computed ahead lack the tables.
    """
    reads = dict.fromkeys(region.buffer for region in block.reads)
    writes = dict.fromkeys(region.buffer for region in block.writes)
    known = {*reads, *writes}
    inside: set[Buffer] = set()
    for n in post_order(block):
        if isinstance(n, Block):
            inside.update(n.alloc_buffers)
            inside.update(match.buffer for match in n.match_buffers)
        elif isinstance(n, BufferLoad) and n.buffer not in known:
            reads.setdefault(n.buffer)
        elif isinstance(n, BufferStore) and n.buffer not in known:
            writes.setdefault(n.buffer)
    return tuple([b for b in reads if b not in inside]), tuple([b for b in writes if b not in inside])
