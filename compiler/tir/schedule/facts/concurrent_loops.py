"""Which blocks make iterations depend on each other that run together: in threads, or as lanes of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from compiler.arith import IterMapLevel
from compiler.arith.iterators.detect_iter_map import detect_iter_map
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var, is_const_int
from compiler.ir.expr.substitute import free_vars, uses_var
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.dependencies import accessed_buffers
from compiler.tir.schedule.facts.passed_on import Bounds, passed_on
from compiler.tir.schedule.facts.thread_scope import is_cross_thread
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import ancestors
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.stmt import For, ForKind

_TOGETHER = (ForKind.PARALLEL, ForKind.VECTORIZED, ForKind.THREAD_BINDING)
Conflicts = dict[tuple[Var, StmtSRef], "Conflict"]


@dataclass(frozen=True, slots=True, eq=False)
class Conflict:
    """Why the iterations of a loop must not run together."""

    loop: For
    block: Block  # what makes them depend on each other
    axis: IterVar | None = None  # its axis that tells them apart, and is not data parallel
    buffer: Buffer | None = None  # where all of them combine values into the same elements, or read what others write
    writer: Block | None = None  # which writes what others read in the block


def conflicts(state: ScheduleState) -> Conflicts:
    """Return all conflicts of a program, by loop and block."""
    by_place: Conflicts = {}
    for sref in state.loops():
        loop = sref.loop
        if loop.kind in _TOGETHER:
            tag = loop.thread_binding.thread_tag if loop.thread_binding is not None else ""
            for block in _blocks_of(state, sref):
                conflict = _conflict(state, sref, loop.kind, tag, block)
                if conflict is not None:
                    by_place[loop.loop_var, block] = conflict
            for conflict in _reads_of_others(state, sref, tag):
                by_place.setdefault((loop.loop_var, state.sref_of(conflict.block)), conflict)
    return by_place


def check_no_new_conflicts(state: ScheduleState, before: Conflicts) -> None:
    """Reject a step after which iterations that run together depend on each other as they did not before."""
    for key, conflict in conflicts(state).items():
        if key not in before:
            _refuse(conflict)


def check_independent(state: ScheduleState, loop: StmtSRef, kind: ForKind, thread_axis: str, block: StmtSRef) -> None:
    """Reject to let the iterations of a loop run together, if a block inside makes them depend on each other.

    ``thread_axis`` is empty for a loop that is bound to none.
    """
    conflict = _conflict(state, loop, kind, thread_axis, block)
    if conflict is not None:
        _refuse(conflict)


def _conflict(
    state: ScheduleState, loop: StmtSRef, kind: ForKind, thread_axis: str, block: StmtSRef
) -> Conflict | None:
    var = loop.loop.loop_var
    realize = state.realize_of(block)
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if axis.iter_type == IterVar.DataPar or not uses_var(value, var):
            continue
        if axis.iter_type != IterVar.CommReduce or not is_cross_thread(thread_axis):
            return Conflict(loop.loop, realize.block, axis=axis)
    inside = _loops_between(loop, block)
    if inside is None or kind == ForKind.THREAD_BINDING or is_const_int(loop.loop.extent, 1):
        return None
    seen = [buffer for buffer in _combined(realize.block) if _is_seen_outside(state, loop, buffer)]
    if not seen or _has_elements_of_its_own(inside, realize):
        return None
    return Conflict(loop.loop, realize.block, buffer=seen[0])


def _reads_of_others(state: ScheduleState, loop: StmtSRef, thread_axis: str) -> Iterator[Conflict]:
    """Yield the blocks that read what other iterations of a loop write, in other blocks.

    What is seen in the loop alone each iteration has of its own, unless a block reads more than the blocks before it
    write.
    """
    n = loop.loop
    around: list[Bounds] = []
    for above in ancestors(loop):
        if above.is_block:
            axes = above.block.iter_vars
            around += [(axis.var, axis.dom.min, axis.dom.extent) for axis in axes if axis.dom is not None]
        else:
            around.append((above.loop.loop_var, above.loop.min, above.loop.extent))
    for one in passed_on((n.loop_var, n.min, n.extent), n.body, tuple(around[::-1]), thread_axis):
        covered = state.info(state.sref_of(one.reader)).region_cover
        if not covered or _is_seen_outside(state, loop, one.buffer):
            yield Conflict(n, one.reader, buffer=one.buffer, writer=one.writer)


def _combined(block: Block) -> Iterator[Buffer]:
    """Yield the buffers whose elements a block changes depending on what they hold."""
    reads = accessed_buffers(block)[0]
    for buffer in accessed_buffers(block)[1]:
        if block.init is not None or buffer in reads:
            yield buffer


def _blocks_of(state: ScheduleState, above: StmtSRef) -> Iterator[StmtSRef]:
    """Yield the blocks whose axes may be told by a loop; those without axes are looked into."""
    for block in state.child_blocks(above):
        if block.block.iter_vars:
            yield block
        else:
            yield from _blocks_of(state, block)


def _loops_between(loop: StmtSRef, block: StmtSRef) -> list[StmtSRef] | None:
    """Return a loop and those inside of it around a block; None where a block with axes is between them.

    A block that stands for parts of a loop has no axes: what is in it is told apart by the loops around.
    """
    if not block.block.iter_vars:
        return None
    between: list[StmtSRef] = []
    for around in ancestors(block):
        if around.is_block and around.block.iter_vars:
            return None
        if not around.is_block:
            between.append(around)
        if around is loop:
            return between[::-1]
    return None


def _has_elements_of_its_own(loops: list[StmtSRef], realize: BlockRealize) -> bool:
    """Return whether each iteration of the first of some loops has other values of a block's data-parallel axes."""
    return _tells_apart(realize, tuple([(sref.loop.loop_var, sref.loop.min, sref.loop.extent) for sref in loops]))


@lru_cache(maxsize=1024)
def _tells_apart(realize: BlockRealize, loops: tuple[tuple[Var, PrimExpr, PrimExpr], ...]) -> bool:
    var = loops[0][0]
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    values = [value for axis, value in pairs if axis.iter_type == IterVar.DataPar and uses_var(value, var)]
    if not values:
        return False
    if var in values:
        return True
    used = set(free_vars(tuple(values)))
    inside = {each: Range.from_fields(first, extent) for each, first, extent in loops if each in used}
    if detect_iter_map(values, inside, realize.predicate, IterMapLevel.Bijective).indices:
        return True
    return not detect_iter_map(values, inside, realize.predicate, IterMapLevel.NoCheck).indices


def _is_seen_outside(state: ScheduleState, loop: StmtSRef, buffer: Buffer) -> bool:
    """Return whether a buffer belongs to more than one iteration of a loop: others use it, or it is a parameter."""
    around = set(ancestors(loop))
    inside = set(state.subtree(loop))
    if not any(buffer in above.block.alloc_buffers for above in around if above.is_block):
        return True
    blocks = (sref for sref in state.subtree(state.root_of(loop)) if sref.is_block)
    return any(
        buffer in used
        for sref in blocks
        if sref not in around and sref not in inside
        for used in accessed_buffers(sref.block)
    )


def _refuse(conflict: Conflict) -> None:
    if conflict.axis is not None:
        refuse(
            f"The block {{1}} has axis {conflict.axis.var.name!r}, which depends on the loop {{0}}, and is neither "
            "data parallel nor, with the loop bound to threadIdx, a reduction; so the loop cannot be parallelized, "
            "vectorized or bound",
            conflict.loop,
            conflict.block,
        )
    assert conflict.buffer is not None
    if conflict.writer is not None:
        refuse(
            f"Block {{1}} may read elements of {conflict.buffer.name} that block {{2}} writes in other iterations of "
            "loop {0}; so the loop cannot be parallelized, vectorized or bound",
            conflict.loop,
            conflict.block,
            conflict.writer,
        )
    refuse(
        f"Several iterations of the loop {{0}} reduce into the same elements of {conflict.buffer.name} in block {{1}}, "
        "and what is outside of the loop sees them; so the loop cannot be parallelized or vectorized",
        conflict.loop,
        conflict.block,
    )
