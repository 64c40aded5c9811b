"""Dependences between the blocks of a scope."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.tir.buffer import Buffer
from compiler.tir.schedule.sref import BlockScope, Dependency, DepKind, StmtSRef

__all__ = ["scope_of_blocks"]


def scope_of_blocks(blocks: Sequence[StmtSRef]) -> BlockScope:
    """Return the scope that some blocks make, with their dependencies as their signatures tell them.

    Parameters
    ----------
    blocks : sequence of StmtSRef
        The blocks directly inside of a block, in the order of the program.

    Returns
    -------
    BlockScope
    """
    writers: dict[Buffer, list[StmtSRef]] = {}
    readers: dict[Buffer, list[StmtSRef]] = {}
    dependencies: dict[tuple[StmtSRef, StmtSRef, DepKind], Dependency] = {}

    def depend(sources: Sequence[StmtSRef], block: StmtSRef, kind: DepKind) -> None:
        for source in sources:
            if source is not block:
                dependencies.setdefault((source, block, kind), Dependency(source, block, kind))

    for block in blocks:
        reads = [region.buffer for region in block.block.reads]
        writes = [region.buffer for region in block.block.writes]
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
