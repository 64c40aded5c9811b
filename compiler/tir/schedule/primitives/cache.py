"""``cache_read`` and ``cache_write``: copies of buffers in other memory scopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compiler.arith import Analyzer
from compiler.arith.int_set import union
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import free_vars
from compiler.ir.node import rebuild
from compiler.tir.schedule.buffers import BlockMutator, ReplaceBuffers, inserted, renamed_buffer, statements_of
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.bindings import conjunction, conjuncts
from compiler.tir.schedule.facts.conditions import buffer_of, scope_root
from compiler.tir.schedule.facts.initial_values import check_made, stores
from compiler.tir.schedule.facts.regions import accessed_box, facts_at, relaxed_loops
from compiler.tir.schedule.facts.roles import BLOCK, ListRole, Role
from compiler.tir.schedule.facts.stated_accesses import check_all_written, check_writer_stated
from compiler.tir.schedule.primitives.navigation import consumers_of
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import ancestors, blocks_in, changed
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.stmt import BufferStore, For, ForKind, SeqStmt, Stmt

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule


class BufferIndex(Role):
    """A buffer that a block reads or writes: its number, its name, or itself.

    ``kind`` is ``read`` or ``write``.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def recorded(self, sch: Schedule, operation: str, value: Any, given: Mapping[str, Any]) -> int:
        if isinstance(value, int):
            return value
        block = sch.get_sref(given["block"]).block
        regions = block.reads if self._kind == "read" else block.writes
        for index, region in enumerate(regions):
            if value is region.buffer or value == region.buffer.name:
                return index
        names = ", ".join(region.buffer.name for region in regions)
        raise ArgumentError(f"{operation}: block {block.name_hint!r} {self._kind}s {names}, got {show(value)}")


@primitive("CacheRead", block=BLOCK, read_buffer_index=BufferIndex("read"), consumer_blocks=ListRole(BLOCK, False))
def cache_read(
    state: ScheduleState,
    block: StmtSRef,
    read_buffer_index: int,
    storage_scope: str,
    consumer_blocks: Sequence[StmtSRef] | None = None,
) -> StmtSRef:
    """Let blocks read a copy of a buffer, which a new block makes.

    For example ``sch.cache_read(block, 0, "local")``::

                                                    for ax0 in range(128):
                                                        with T.block("A_local"):
                                                            v0 = T.axis.spatial(128, ax0)
                                                            A_local[v0] = A[v0]
        for i in range(128):                        for i in range(128):
            with T.block("B"):               →          with T.block("B"):
                vi = T.axis.spatial(128, i)                 vi = T.axis.spatial(128, i)
                B[vi] = A[vi] * 2.0                         B[vi] = A_local[vi] * 2.0

    Raises ScheduleError if the block reads no such buffer, or several blocks write it.

    Parameters
    ----------
    read_buffer_index : int, str or Buffer
        Which of the buffers that it reads, counted from 0; or its name.
    consumer_blocks : list of BlockRV, optional
        The blocks that read the copy; all that read the buffer where left out.
    """
    buffer = buffer_of(block, read_buffer_index, "read")
    scope = scope_root(state, block)
    writer = only_writer(state, scope, buffer)
    chosen = list(consumer_blocks or ())
    if writer is None:
        readers = chosen or readers_of(state, scope, buffer)
        place = Place(scope, 0)
        region = full_region(buffer)
    else:
        check_reads_after(state, writer, chosen, buffer)
        readers = chosen or consumers_of(state, writer)
        place = place_behind(writer, scope, readers)
        region = region_below(state, writer, buffer, place.around)
    copy = renamed_buffer(buffer, f"{buffer.name}_{storage_scope}", storage_scope)
    stage = copy_stage(buffer, copy, region)
    readers = [reader for reader in readers if reader is not writer]
    return insert_stage(state, scope, Insertion(place, stage, copy), ReplaceBuffers({buffer: copy}), readers)


@primitive("CacheWrite", block=BLOCK, write_buffer_index=BufferIndex("write"), consumer_blocks=ListRole(BLOCK, False))
def cache_write(
    state: ScheduleState,
    block: StmtSRef,
    write_buffer_index: int,
    storage_scope: str,
    consumer_blocks: Sequence[StmtSRef] | None = None,
) -> StmtSRef:
    """Let a block write other memory, which a new block copies to the buffer.

    For example ``sch.cache_write(block, 0, "local")``::

        for i in range(128):                        for i in range(128):
            with T.block("B"):               →          with T.block("B"):
                vi = T.axis.spatial(128, i)                 vi = T.axis.spatial(128, i)
                B[vi] = A[vi] * 2.0                         B_local[vi] = A[vi] * 2.0
                                                    for ax0 in range(128):
                                                        with T.block("B_local"):
                                                            v0 = T.axis.spatial(128, ax0)
                                                            B[v0] = B_local[v0]

    Raises ScheduleError if the block writes no such buffer, or another block writes it as well.

    Parameters
    ----------
    write_buffer_index : int, str or Buffer
        Which of the buffers that it writes, counted from 0; or its name.
    consumer_blocks : list of BlockRV, optional
        The blocks that read that memory instead of the copy; none where left out.
    """
    buffer = buffer_of(block, write_buffer_index, "write")
    scope = scope_root(state, block)
    only_writer(state, scope, buffer)
    chosen = list(consumer_blocks or ())
    check_made(state, block, buffer)
    place = place_behind(block, scope, consumers_of(state, block))
    at = _child_index(block, place.around)  # what reads the buffer beside the block reads it again in later iterations
    beside = [b for b in readers_of(state, scope, buffer) if b not in chosen and _child_index(b, place.around) == at]
    check_reads_after(state, block, beside, buffer)
    region = region_below(state, block, buffer, place.around)
    if buffer not in scope.block.alloc_buffers:
        check_all_written(state, block, buffer, region, place.around)
    copy = renamed_buffer(buffer, f"{buffer.name}_{storage_scope}", storage_scope)
    stage = copy_stage(copy, buffer, region, _condition_outside(state, block, place))
    replace = ReplaceBuffers({buffer: copy})
    return insert_stage(state, scope, Insertion(place, stage, copy), replace, [block, *chosen])


@primitive("CacheInplace", block=BLOCK, read_buffer_index=BufferIndex("read"))
def cache_inplace(state: ScheduleState, block: StmtSRef, read_buffer_index: int, storage_scope: str) -> list[StmtSRef]:
    """Let a block that reads and writes a buffer work on a copy, which is made before and copied back after it.

    For example ``sch.cache_inplace("A", 0, "local")``::

                                            for ax0 in range(64):
                                                A_local[ax0] = A[ax0]
        with T.block("A"):           →      with T.block("A"):
            A[0:64] changes                     A_local[0:64] changes
                                            for ax0 in range(64):
                                                A[ax0] = A_local[ax0]

    It returns the block that makes the copy, and the one that copies it back; the buffer is one of those that the block
    reads, by its number from 0 on, its name, or itself. Raises ScheduleError if the block does not both read and write
    the buffer.
    """
    buffer = buffer_of(block, read_buffer_index, "read")
    if all(region.buffer is not buffer for region in block.block.writes):
        refuse(f"The target block {{0}} does not both read & write target buffer {buffer.name}.", block)
    scope = scope_root(state, block)
    realize = state.realize_of(block)
    accesses = [region for region in (*block.block.reads, *block.block.writes) if region.buffer is buffer]
    analyzer = facts_at(block)
    sides = [
        union(sets, analyzer) for sets in zip(*[accessed_box(realize, r, {}, analyzer) for r in accesses], strict=True)
    ]
    region = [side.cover_range(all, analyzer) for side, all in zip(sides, full_region(buffer), strict=True)]
    copy = renamed_buffer(buffer, f"{buffer.name}_{storage_scope}", storage_scope)
    before, after = copy_stage(buffer, copy, region), copy_stage(copy, buffer, region)
    replace = ReplaceBuffers({buffer: copy})
    around = _SurroundBlock(realize, before, after, replace)
    body = around.visit(scope.block.body)
    new = changed(scope.block, body=body, alloc_buffers=(*scope.block.alloc_buffers, copy))
    state.replace(scope, new, {**replace.reuse, scope.block: new})
    state.refresh(scope)
    return [state.sref_of(next(blocks_in(stage))) for stage in (before, after)]


class _SurroundBlock(BlockMutator):
    """Puts statements before and after a block, which accesses another buffer."""

    def __init__(self, realize: BlockRealize, before: Stmt, after: Stmt, replace: ReplaceBuffers) -> None:
        BlockMutator.__init__(self)
        self._realize = realize
        self._before = before
        self._after = after
        self._replace = replace

    def visit_BlockRealize(self, n: BlockRealize) -> Stmt:
        if n is not self._realize:
            return n
        return SeqStmt((self._before, self._replace.visit(n), self._after))


@dataclass(frozen=True, slots=True)
class Place:
    """A place between statements."""

    around: StmtSRef  # the loop or block in whose body it is
    position: int  # before which statement of the body, counted from 0


@dataclass(frozen=True, slots=True)
class Insertion:
    """A stage that is inserted."""

    place: Place
    stage: Stmt
    buffer: Buffer  # what it writes or reads, which the scope allocates


def only_writer(state: ScheduleState, scope: StmtSRef, buffer: Buffer) -> StmtSRef | None:
    """Return the block of a scope that writes a buffer, None if none does.

    Raises IllegalStepError if several do, or the signature of one does not say so.
    """
    check_writer_stated(state, scope, buffer)
    writers = [b for b in state.child_blocks(scope) if any(region.buffer is buffer for region in b.block.writes)]
    if len(writers) > 1:
        refuse(
            f"The buffer {buffer.name} is expected to be written by single block, but got {len(writers)} blocks who "
            "write it.",
            *[writer.block for writer in writers],
        )
    if writers and stores(scope.block.init, buffer):
        refuse(
            f"Block {{0}} adds to the values of {buffer.name} that the init statement of block {{1}} sets, so the "
            "buffer cannot be replaced by a copy of it.",
            writers[0],
            scope,
        )
    return writers[0] if writers else None


def check_reads_after(state: ScheduleState, writer: StmtSRef, readers: Sequence[StmtSRef], buffer: Buffer) -> None:
    """Reject readers that come before the writer: what they read was made outside of the scope."""
    for reader in readers:
        if reader is not writer and reader not in consumers_of(state, writer):
            refuse(
                f"Block {{0}} reads {buffer.name} before block {{1}} writes it, and a copy of what that writes comes "
                "too late",
                reader,
                writer,
            )


def _condition_outside(state: ScheduleState, block: StmtSRef, place: Place) -> PrimExpr:
    """Return what of the condition of a block is about the loops around a place."""
    inside = set(relaxed_loops(block, place.around))
    condition: PrimExpr = const(True, "bool")
    for part in conjuncts(state.realize_of(block).predicate):
        if inside.isdisjoint(free_vars(part)):
            condition = conjunction(condition, part)
    return condition


def readers_of(state: ScheduleState, scope: StmtSRef, buffer: Buffer) -> list[StmtSRef]:
    """Return the blocks of a scope that read a buffer."""
    return [b for b in state.child_blocks(scope) if any(region.buffer is buffer for region in b.block.reads)]


def full_region(buffer: Buffer) -> tuple[Range, ...]:
    """Return the region of all elements of a buffer."""
    return tuple([Range.from_fields(const(0, dim.dtype), dim) for dim in buffer.shape])


def place_behind(block: StmtSRef, scope: StmtSRef, related: Sequence[StmtSRef]) -> Place:
    """Return the innermost place between a block and the first of some later ones; the scope's end if it has none."""
    inner = block
    for around in ancestors(block):
        later = [at for other in related if (at := _child_index(other, around)) is not None and at > inner.seq_index]
        if inner.seq_index >= 0 and later:
            return Place(around, min(later))
        inner = around
        if around is scope:
            break
    return Place(scope, len(statements_of(scope.block.body)))


def _child_index(sref: StmtSRef, around: StmtSRef) -> int | None:
    """Return in which statement of a loop's or block's body another one is."""
    inner = sref
    for above in ancestors(sref):
        if above is around:
            return inner.seq_index
        inner = above
    return None


def region_below(state: ScheduleState, block: StmtSRef, buffer: Buffer, around: StmtSRef) -> tuple[Range, ...]:
    """Return what a block writes of a buffer while the loops run that are inside of a loop or block."""
    analyzer = facts_at(block)
    realize = state.realize_of(block)
    loops = relaxed_loops(block, around)
    boxes = [accessed_box(realize, r, loops, analyzer) for r in block.block.writes if r.buffer is buffer]
    sides = [union(sets, analyzer) for sets in zip(*boxes, strict=True)]
    return tuple([side.cover_range(all, analyzer) for side, all in zip(sides, full_region(buffer), strict=True)])


def copy_stage(source: Buffer, target: Buffer, region: Sequence[Range], condition: PrimExpr | None = None) -> Stmt:
    """Return loops and a block that copy a region of a buffer to the same place of another one.

    The block is called after the buffer of the two that is new.
    """
    loops = [Var(f"ax{index}", bound.extent.dtype) for index, bound in enumerate(region)]
    axes = [
        IterVar(Range.from_fields(const(0, dim.dtype), dim), Var(f"v{index}", dim.dtype), IterVar.DataPar)
        for index, dim in enumerate(source.shape)
    ]
    simplify = Analyzer().simplify
    values = tuple([simplify(bound.min + var) for bound, var in zip(region, loops, strict=True)])
    indices = tuple([axis.var for axis in axes])
    point = tuple([Range.from_fields(var, const(1, var.dtype)) for var in indices])
    name = max(source.name, target.name, key=len)
    body = BufferStore(target, BufferLoad(source, indices), indices)
    block = Block(tuple(axes), (BufferRegion(source, point),), (BufferRegion(target, point),), name, body)
    stmt: Stmt = BlockRealize(values, const(True, "bool") if condition is None else condition, block)
    for var, bound in zip(reversed(loops), reversed(region), strict=True):
        stmt = For(var, const(0, var.dtype), bound.extent, ForKind.SERIAL, stmt)
    return stmt


def insert_stage(
    state: ScheduleState, scope: StmtSRef, insertion: Insertion, rewrite: ReplaceBuffers, blocks: Sequence[StmtSRef]
) -> StmtSRef:
    """Insert a stage, and let some blocks access another buffer, which the scope allocates."""
    place = insertion.place
    insert = _Insert(insertion, rewrite, {sref.block for sref in blocks})
    body = insert.visit(scope.block.body)
    if place.around is scope:
        body = inserted(body, place.position, insertion.stage)
    new = changed(scope.block, body=body, alloc_buffers=(*scope.block.alloc_buffers, insertion.buffer))
    state.replace(scope, new, {**rewrite.reuse, scope.block: new})
    return state.sref_of(next(blocks_in(insertion.stage)))


class _Insert(BlockMutator):
    """Inserts a statement at a place inside of loops, and rewrites some blocks."""

    def __init__(self, insertion: Insertion, rewrite: ReplaceBuffers, blocks: set[Block]) -> None:
        BlockMutator.__init__(self)
        self._insertion = insertion
        self._loop = insertion.place.around.stmt
        self._rewrite = rewrite
        self._blocks = blocks

    def visit_For(self, n: For) -> Stmt:
        body = self.visit(n.body)
        if n is self._loop:
            body = inserted(body, self._insertion.place.position, self._insertion.stage)
        return rebuild(n, body=body)

    def visit_BlockRealize(self, n: BlockRealize) -> Stmt:
        return self._rewrite.visit(n) if n.block in self._blocks else n
