"""``reindex``: copies of buffers in the index order of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.arith.analyzer import Analyzer
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Var, const, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import nodes_of
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.tir.layout.index_map import IndexMap
from compiler.tir.schedule.buffers import ReplaceBuffers, renamed_buffer
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.conditions import buffer_of, check_all_values, scope_root
from compiler.tir.schedule.facts.initial_values import check_made
from compiler.tir.schedule.facts.roles import BLOCK
from compiler.tir.schedule.facts.stated_accesses import check_stored_always
from compiler.tir.schedule.primitives.cache import (
    BufferIndex,
    Insertion,
    Place,
    check_reads_after,
    insert_stage,
    only_writer,
    place_behind,
)
from compiler.tir.schedule.primitives.layout import BufferChoice, IndexMapping
from compiler.tir.schedule.primitives.navigation import consumers_of
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.relayout import nest_of_axes
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import loops_above
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.stmt import BufferStore, For, ForKind, Stmt

Places = Callable[[Sequence[PrimExpr]], Sequence[PrimExpr]]
"""From the values of the axes that an access uses to the indices of the copy."""


@primitive("ReIndex", block=BLOCK, buffer=BufferChoice())
def reindex(state: ScheduleState, block: StmtSRef, buffer: Sequence[Any]) -> StmtSRef:
    """Let a block access a copy of a buffer that has a dimension for each of its axes that it uses.

    For example ``sch.reindex("C", ("read", 0))``::

                                            for ax0, ax1 in T.grid(16, 16):
                                                A_reindex[v0, v1] = A[v0 * 2 + v1]
        C[vi] = C[vi] + A[vi * 2 + vk]  →   C[vi] = C[vi] + A_reindex[vi, vk]

    The buffer is ``("read", index)`` or ``("write", index)``, its name, or itself. Raises ScheduleError if the block
    accesses the buffer by several indices, or outside of its shape where a condition does not hold.
    """
    old = buffer_of(block, buffer[1], buffer[0])
    indices, axes = _access(block, old)
    shape = [axis.dom.extent for axis in axes if axis.dom is not None]
    copy = renamed_buffer(old, f"{old.name}_reindex", "global", shape)
    name = f"{old.name}_reindex_reindex" if buffer[0] == "read" else f"{old.name}_reindex"
    return _insert(state, block, old, copy, name, indices, axes, tuple, buffer[0] == "read", alike=False)


@primitive(
    "ReindexCacheRead", block=BLOCK, read_buffer_index=BufferIndex("read"), index_map=IndexMapping(of_buffer=False)
)
def reindex_cache_read(
    state: ScheduleState, block: StmtSRef, read_buffer_index: int, storage_scope: str, index_map: IndexMap
) -> StmtSRef:
    """Let a block read a copy of a buffer, whose elements lie where a map of its axes says.

    For example ``sch.reindex_cache_read("C", 0, "shared", lambda i, k: (k, i))``::

                                            for i, k in T.grid(16, 16):
                                                A_shared[vk, vi] = A[vi, vk]
        C[vi] = C[vi] + A[vi, vk]       →   C[vi] = C[vi] + A_shared[vk, vi]

    The map takes the axes of the block to the indices of the copy. Raises ScheduleError if the block accesses the
    buffer by several indices or, where a condition does not hold, outside of its shape, or two elements would lie in
    one place.
    """
    return _reindex_cache(state, block, read_buffer_index, storage_scope, index_map, "read")


@primitive(
    "ReindexCacheWrite", block=BLOCK, write_buffer_index=BufferIndex("write"), index_map=IndexMapping(of_buffer=False)
)
def reindex_cache_write(
    state: ScheduleState, block: StmtSRef, write_buffer_index: int, storage_scope: str, index_map: IndexMap
) -> StmtSRef:
    """Let a block write other memory, where a map of its axes says; a new block copies it to the buffer.

    For example ``sch.reindex_cache_write("C", 0, "local", lambda i, j: (j, i))``::

        C[vi, vj] = A[vi, vj]       →       C_local[vj, vi] = A[vi, vj]
                                            for i, j in T.grid(16, 16):
                                                C[vi, vj] = C_local[vj, vi]

    The map takes the axes of the block to the indices in that memory. Raises ScheduleError if the block accesses the
    buffer by several indices or, where a condition does not hold, outside of its shape, or two elements would lie in
    one place.
    """
    return _reindex_cache(state, block, write_buffer_index, storage_scope, index_map, "write")


def _reindex_cache(
    state: ScheduleState, block: StmtSRef, index: int, storage_scope: str, index_map: IndexMap, kind: str
) -> StmtSRef:
    old = buffer_of(block, index, kind)
    indices, axes = _access(block, old)
    used = {axis.var for axis in axes}
    variables = [axis.var for axis in block.block.iter_vars]
    mapped = index_map.map_indices(variables)
    if set(free_vars(mapped)) != used:
        refuse(f"The {index_map} of block {{0}} must use just the axes that buffer {old.name} is accessed by", block)
    extents = [axis.dom.extent for axis in block.block.iter_vars if axis.dom is not None]
    copy = renamed_buffer(
        old, f"{old.name}_{storage_scope.replace('.', '_')}", storage_scope, index_map.map_shape(extents)
    )

    def place(values: Sequence[PrimExpr]) -> Sequence[PrimExpr]:
        return substitute(mapped, dict(zip((axis.var for axis in axes), values, strict=True)))

    return _insert(state, block, old, copy, copy.name, indices, axes, place, kind == "read", alike=True)


def _access(block: StmtSRef, buffer: Buffer) -> tuple[tuple[PrimExpr, ...], list[IterVar]]:
    """Return the indices by which a block accesses a buffer, and the axes that they use."""
    stmts = (block.block.init, block.block.body)
    accesses = [n.indices for n in nodes_of(stmts, BufferLoad, BufferStore) if n.buffer is buffer]
    axes = [axis for axis in block.block.iter_vars if accesses and axis.var in free_vars(accesses[0])]
    variables = {axis.var for axis in axes}
    alike = accesses and all(structural_equal(indices, accesses[0]) for indices in accesses)
    if not alike or set(free_vars(accesses[0])) - variables:
        refuse(
            f"The block {{0}} must access buffer {buffer.name} by the same indices everywhere, made of its axes", block
        )
    if any(axis.dom is not None and not is_const_int(axis.dom.min, 0) for axis in axes):
        refuse(
            f"The axes of block {{0}} that buffer {buffer.name} is accessed by must begin at 0, where the copy does",
            block,
        )
    if not _within_shape(accesses[0], axes, buffer):
        refuse(
            f"Over the whole domains of its axes, block {{0}} must access buffer {buffer.name} inside of its shape: no "
            "condition guards the copy",
            block,
        )
    return accesses[0], axes


def _within_shape(indices: Sequence[PrimExpr], axes: Sequence[IterVar], buffer: Buffer) -> bool:
    """Whether an access stays inside of a buffer, whatever the values of its axes."""
    analyzer = Analyzer.knowing({axis.var: axis.dom for axis in axes if axis.dom is not None})
    return all(
        analyzer.can_prove(index >= 0) and analyzer.can_prove(index < extent)
        for index, extent in zip(indices, buffer.shape, strict=True)
    )


def _check_copy(state: ScheduleState, block: StmtSRef, old: Buffer, is_read: bool) -> None:
    """Reject a block that reads or writes other elements than a copy would hold."""
    if not is_read:
        check_all_values(state, block)
        check_made(state, block, old)
        check_stored_always(state, block, old)
    elif any(region.buffer is old for region in block.block.writes):
        refuse(f"Block {{0}} writes {old.name}, so that it cannot read a copy which is made before", block)


def _insert(
    state: ScheduleState,
    block: StmtSRef,
    old: Buffer,
    copy: Buffer,
    name: str,
    indices: Sequence[PrimExpr],
    axes: Sequence[IterVar],
    place: Places,
    is_read: bool,
    alike: bool,
) -> StmtSRef:
    """Insert the block that copies, and let the other one access the copy.

    Its axes and loops are called by their numbers; where ``alike`` is true they are those of the other one.
    """
    scope = scope_root(state, block)
    writer = only_writer(state, scope, old)
    _check_copy(state, block, old, is_read)
    if is_read and writer is not None:
        check_reads_after(state, writer, [block], old)
    if is_read:
        at = Place(scope, 0) if writer is None else place_behind(writer, scope, [block])
    else:
        at = place_behind(block, scope, consumers_of(state, block))
    if at.around is not scope:
        refuse(
            f"The copy of {old.name} would stand under a loop, where not all of its elements are made yet that block "
            "{0} reads, or where it writes them",
            block,
        )
    names = [axis.var.name if alike else f"v{i}" for i, axis in enumerate(axes)]
    own = [
        IterVar(axis.dom, Var(name, axis.var.dtype), IterVar.DataPar) for name, axis in zip(names, axes, strict=True)
    ]
    values = dict(zip((axis.var for axis in axes), (axis.var for axis in own), strict=True))
    there = tuple(place([axis.var for axis in own]))
    here = substitute(tuple(indices), values)
    source, target = ((old, here), (copy, there)) if is_read else ((copy, there), (old, here))
    body = BufferStore(target[0], BufferLoad(*source), target[1])
    copying = Block(tuple(own), (BufferRegion.from_point(*source),), (BufferRegion.from_point(*target),), name, body)
    stage = _loops_alike(state, block, copying, axes) if alike else None
    if stage is None:
        stage, _ = nest_of_axes(copying, own, {})
    rewrite = _Reindex(old, copy, tuple(place([axis.var for axis in axes])))
    return insert_stage(state, scope, Insertion(at, stage, copy), rewrite, [block])


def _loops_alike(state: ScheduleState, block: StmtSRef, copying: Block, axes: Sequence[IterVar]) -> Stmt | None:
    """Return a block under copies of those loops around another one that some of its axes use.

    None if these would not make it copy each element once: under a condition, or where an axis is not a sum over
    loops of its own.
    """
    realize = state.realize_of(block)
    value_of = dict(zip((axis.var for axis in block.block.iter_vars), realize.iter_values, strict=True))
    values = tuple([value_of[axis.var] for axis in axes])
    used = set(free_vars(values))
    loops = [sref.loop for sref in loops_above(block) if sref.loop.loop_var in used]
    constant = all(isinstance(loop.min, IntImm) and isinstance(loop.extent, IntImm) for loop in loops)
    if not constant or not is_const_int(realize.predicate, 1) or not state.info(block).affine_binding:
        return None
    own: dict[Var, Var] = {loop.loop_var: Var(loop.loop_var.name, loop.loop_var.dtype) for loop in loops}
    stmt: Stmt = BlockRealize(substitute(values, own), const(True, "bool"), copying)
    for loop in reversed(loops):
        stmt = For(own[loop.loop_var], loop.min, loop.extent, ForKind.SERIAL, stmt)
    return stmt


class _Reindex(ReplaceBuffers):
    """Accesses a copy by other indices."""

    def __init__(self, old: Buffer, new: Buffer, indices: tuple[PrimExpr, ...]) -> None:
        ReplaceBuffers.__init__(self, {old: new})
        self._old = old
        self._new = new
        self._indices = indices

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        if n.buffer is self._old:
            return rebuild(n, buffer=self._new, indices=self._indices)
        return ReplaceBuffers.visit_BufferLoad(self, n)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        if n.buffer is self._old:
            return rebuild(n, buffer=self._new, value=self.visit(n.value), indices=self._indices)
        return ReplaceBuffers.visit_BufferStore(self, n)

    def visit_BufferRegion(self, n: BufferRegion) -> BufferRegion:
        if n.buffer is self._old:
            return BufferRegion.from_point(self._new, self._indices)
        return ReplaceBuffers.visit_BufferRegion(self, n)
