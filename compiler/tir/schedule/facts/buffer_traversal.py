"""Loops that store each element of a buffer once, in memory order."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.expr.primexpr import IterVar, Var, is_const_int
from compiler.ir.expr.substitute import uses_var
from compiler.ir.functor import nodes_of
from compiler.ir.structural import structural_equal
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.stmt import BufferStore, For, ForKind, Stmt


@dataclass(frozen=True, slots=True, eq=False)
class Traversal:
    """A loop for each dimension of a buffer, around a block that stores the element that they stand at."""

    loop: For
    block: Block
    store: BufferStore
    axes: tuple[Var, ...]  # the axis of the block that each index of the store is


def traversals(home: Block, buffer: Buffer) -> list[Traversal]:
    """Return all loops that store a buffer, if each of them stores all of its elements in order."""
    stores = [n for n in nodes_of(home, BufferStore) if n.buffer is buffer]
    storing = [made for n in nodes_of(home, For) if (made := _traversal(n, buffer)) is not None]
    return storing if len(storing) == len(stores) else []


def _traversal(outermost: For, buffer: Buffer) -> Traversal | None:
    loops: list[For] = []
    stmt: Stmt = outermost
    while isinstance(stmt, For) and len(loops) < len(buffer.shape):
        loops.append(stmt)
        stmt = stmt.body
    if len(loops) != len(buffer.shape) or not isinstance(stmt, BlockRealize) or not is_const_int(stmt.predicate, 1):
        return None
    block, store = stmt.block, stmt.block.body
    if not isinstance(store, BufferStore) or store.buffer is not buffer or not _is_plain(block) or _reads(store):
        return None
    if uses_var(store, {loop.loop_var for loop in loops}.__contains__):
        return None
    values = dict(zip((axis.var for axis in block.iter_vars), stmt.iter_values, strict=True))
    axes = tuple([index for index in store.indices if isinstance(index, Var) and index in values])
    in_order = len(axes) == len(values) == len(loops) and all(
        values[axis] is loop.loop_var for axis, loop in zip(axes, loops, strict=True)
    )
    return Traversal(outermost, block, store, axes) if in_order and _covers(loops, buffer) else None


def _is_plain(block: Block) -> bool:
    others = (block.init, *block.alloc_buffers, *block.match_buffers)
    return all(other is None for other in others) and all(a.iter_type == IterVar.DataPar for a in block.iter_vars)


def _covers(loops: list[For], buffer: Buffer) -> bool:
    return all(
        loop.kind == ForKind.SERIAL and is_const_int(loop.min, 0) and structural_equal(loop.extent, dim)
        for loop, dim in zip(loops, buffer.shape, strict=True)
    )


def _reads(store: BufferStore) -> bool:
    """Return whether what a store stores depends on what is stored there already."""
    return any(n.buffer.data is store.buffer.data for n in nodes_of(store.value, BufferLoad))
