"""What must hold of what a block says that it accesses, before it may be moved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NoReturn

from compiler.arith.int_set import IntSet
from compiler.ir.expr.primexpr import Range, const
from compiler.ir.expr.substitute import free_vars
from compiler.ir.node import rebuild
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.bindings import conjunction, conjuncts
from compiler.tir.schedule.facts.conditions import scope_root
from compiler.tir.schedule.facts.dependencies import accessed_buffers
from compiler.tir.schedule.facts.regions import covers, facts_at, merged, relaxed_loops
from compiler.tir.schedule.facts.stored_elements import stored_boxes, stores_conditionally
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import loops_above
from compiler.tir.statements.buffer import Buffer


def check_closed(block: StmtSRef) -> None:
    """Reject a block that uses a loop around it by another way than its axes, as the parts of partitioned loops do."""
    used = set(free_vars(block.block))
    for around in loops_above(block):
        if around.loop.loop_var in used:
            refuse(
                "Block {0} uses the variable of loop {1} without an axis for it, so it cannot be moved", block, around
            )


def check_writes_stated(block: StmtSRef) -> None:
    """Reject a block that writes what its signature does not say, as a block around parts of a loop does."""
    stated = {region.buffer for region in block.block.writes}
    for buffer in accessed_buffers(block.block)[1]:
        if buffer not in stated:
            refuse(f"The signature of block {{0}} does not say that it writes {buffer.name}", block)


def check_writer_stated(state: ScheduleState, scope: StmtSRef, buffer: Buffer) -> None:
    """Reject a scope in which a block writes a buffer that its signature lacks."""
    for block in state.child_blocks(scope):
        stated = any(region.buffer is buffer for region in block.block.writes)
        if not stated and buffer in accessed_buffers(block.block)[1]:
            check_writes_stated(block)


def check_users_stated(state: ScheduleState, around: StmtSRef, buffer: Buffer) -> None:
    """Reject a loop or block under which a block accesses a buffer that its signature lacks."""
    for block in state.child_blocks(around):
        stated = any(region.buffer is buffer for region in (*block.block.reads, *block.block.writes))
        if not stated and any(buffer in buffers for buffers in accessed_buffers(block.block)):
            refuse(f"The signature of block {{0}} does not say that it accesses {buffer.name}", block)


def check_all_written(
    state: ScheduleState, block: StmtSRef, buffer: Buffer, region: Sequence[Range], around: StmtSRef
) -> None:
    """Reject a block that may leave some elements of a region as they are, below a loop or block.

    The blocks of partitioned loops do, which write less than their signatures say; a copy of the region would hold
    elements that were never written.
    """
    realize, analyzer = state.realize_of(block), facts_at(block)
    loops = relaxed_loops(block, around)
    parts = [part for part in conjuncts(realize.predicate) if not loops.keys().isdisjoint(free_vars(part))]
    inside = rebuild(realize, predicate=reduce(conjunction, parts, const(True, "bool")))
    written = merged(stored_boxes(inside, buffer, loops, analyzer), analyzer)
    if not any(covers(box, tuple([IntSet.from_range(side) for side in region]), analyzer) for box in written):
        _refuse_partial(block, buffer)


def check_stored_always(state: ScheduleState, block: StmtSRef, buffer: Buffer) -> None:
    """Reject a block that stores to a buffer under conditions only: a copy would overwrite what it leaves as it is."""
    if buffer not in scope_root(state, block).block.alloc_buffers and stores_conditionally(block.block, buffer):
        _refuse_partial(block, buffer)


def _refuse_partial(block: StmtSRef, buffer: Buffer) -> NoReturn:
    refuse(f"Block {{0}} may leave some of the elements of {buffer.name} as they are that are to be copied", block)


def check_reads_stated(block: StmtSRef, producers: Sequence[StmtSRef]) -> None:
    """Reject a block that reads of a producer what its signature does not say."""
    read = {region.buffer for region in block.block.reads}
    for producer in producers:
        if read.isdisjoint(region.buffer for region in producer.block.writes):
            refuse(
                "The signature of block {0} does not say which elements it reads of what block {1} writes",
                block,
                producer,
            )
