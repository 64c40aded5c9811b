"""``pad_einsum``: pads the extents of a tensor contraction."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import Add, Cast, IntImm, IterVar, Mul, PrimExpr, Range, Var, const
from compiler.ir.expr.scalars import int_value
from compiler.ir.expr.substitute import free_vars
from compiler.ir.functor import nodes_of
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from
from compiler.tir.expressions.op import all as all_of
from compiler.tir.expressions.op import if_then_else
from compiler.tir.schedule.buffers import ReplaceBuffers, renamed_buffer
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.conditions import check_complete_or_reduction_block, scope_root
from compiler.tir.schedule.facts.roles import BLOCK
from compiler.tir.schedule.primitives.layout import plain_nest
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.relayout import nest_of_axes
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import changed, loops_above, with_child
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.stmt import BufferStore as Store
from compiler.tir.statements.stmt import SeqStmt, Stmt


@primitive("PadEinsum", block=BLOCK)
def pad_einsum(state: ScheduleState, block: StmtSRef, padding: Sequence[int]) -> None:
    """Let the axes of a sum of products have extents that are multiples of some numbers.

    For example ``sch.pad_einsum("C", [16, 16, 16])`` where the extents are 10, 12 and 24::

                                                     A_pad[v0, v1] = if_then_else(v0 < 10 and v1 < 24, A[v0, v1], 0)
                                                     B_pad[v0, v1] = if_then_else(v0 < 24 and v1 < 12, B[v0, v1], 0)
        for i, j, k in T.grid(10, 12, 24): …    →    for i, j, k in T.grid(16, 16, 32): …
                                                     C[v0, v1] = C_pad[v0, v1]

    The axes of the block are just the loops around it, and each index of its accesses is one of them; a number of 1
    leaves the extent of its axis as it is. Raises ScheduleError if the block is another one, and ArgumentError if there
    is not a positive number for each axis.
    """
    axes = block.block.iter_vars
    if len(padding) != len(axes) or any(not isinstance(p, int) or p < 1 for p in padding):
        raise ArgumentError(f"pad_einsum: padding must be {len(axes)} positive numbers, got {show(list(padding))}")
    scope = scope_root(state, block)
    check_complete_or_reduction_block(state, block, scope)
    nest = plain_nest(state, block, state.realize_of(block))
    update = _product(block, axes)
    extents = {axis.var: _rounded(block, axis, step) for axis, step in zip(axes, padding, strict=True)}
    _check_whole_buffers(block, update)
    padded = _padded_buffers(block.block, update, extents)
    if not padded:
        return
    with derived_from(current_span() | block.block.span):
        stages = [_pad_stage(old, new) for old, new in padded.items() if old is not update.buffer]
        inner, new_nest = _resized(state, block, extents, padded)
        tail = [_copy_back(padded[update.buffer], update.buffer)] if update.buffer in padded else []
        body = with_child(scope.block, nest, SeqStmt((*stages, new_nest, *tail)))
        new = changed(body, alloc_buffers=(*scope.block.alloc_buffers, *padded.values()))
    state.replace(scope, new, {scope.block: new, block.block: inner})
    state.rebound(block)


def _product(block: StmtSRef, axes: Sequence[IterVar]) -> BufferStore:
    """Return the store of a block that adds products up, or stores them."""
    update = block.block.body
    if not isinstance(update, BufferStore) or not _is_sum_of_products(update, axes):
        refuse(
            "The block {0} must store a product of elements, or add one up, with indices that are axes of the block",
            block,
        )
    return update


def _is_sum_of_products(update: BufferStore, axes: Sequence[IterVar]) -> bool:
    """Return whether what is added is a product, which a zero in any of the elements makes zero."""
    value, variables = update.value, {axis.var for axis in axes}
    reduced = {axis.var for axis in axes if axis.iter_type == IterVar.CommReduce}
    if isinstance(value, Add) and isinstance(value.a, BufferLoad) and value.a.buffer is update.buffer:
        value = value.b
    return _is_product(value) and _is_plain(update, variables) and reduced <= set(free_vars(value))


def _is_product(value: PrimExpr) -> bool:
    if isinstance(value, Mul):
        return _is_product(value.a) and _is_product(value.b)
    return isinstance(value, BufferLoad) or (isinstance(value, Cast) and _is_product(value.value))


def _is_plain(store: BufferStore, axes: Collection[Var]) -> bool:
    """Return whether each index of all accesses is an axis of the block, and no two of one access are the same."""
    accesses = nodes_of(store, BufferLoad, BufferStore)
    return all(all(i in axes for i in n.indices) and len(set(n.indices)) == len(n.indices) for n in accesses)


def _rounded(block: StmtSRef, axis: IterVar, step: int) -> PrimExpr:
    extent = axis.dom.extent if axis.dom is not None else None
    if not isinstance(extent, IntImm):
        refuse(f"Axis {axis.var.name!r} of block {{0}} has no constant extent", block)
    return const(-(-extent.value // step) * step, extent.dtype)


def _check_whole_buffers(block: StmtSRef, update: BufferStore) -> None:
    """Reject a block that accesses a part of a buffer, whose rest the padded copy would lack."""
    sizes = {axis.var: axis.dom.extent for axis in block.block.iter_vars if axis.dom is not None}
    equal = Analyzer().can_prove_equal
    for n in nodes_of(update, BufferLoad, BufferStore):
        if not all(
            isinstance(index, Var) and equal(sizes[index], dim)
            for index, dim in zip(n.indices, n.buffer.shape, strict=True)
        ):
            refuse(f"The block {{0}} must access all of buffer {n.buffer.name} to have a padded copy of it", block)


def _padded_buffers(block: Block, update: BufferStore, extents: dict[Var, PrimExpr]) -> dict[Buffer, Buffer]:
    """Return the larger buffers that take the place of those that are too small."""
    shapes = {
        n.buffer: tuple([extents[index] for index in n.indices if isinstance(index, Var)])
        for n in nodes_of(update, BufferLoad, BufferStore)
    }
    padded: dict[Buffer, Buffer] = {}
    for region in (*block.reads, *block.writes):
        buffer = region.buffer
        same = all(int_value(a) == int_value(b) for a, b in zip(shapes[buffer], buffer.shape, strict=True))
        if not same and buffer not in padded:
            padded[buffer] = renamed_buffer(buffer, f"{buffer.name}_pad", buffer.storage_scope, shapes[buffer])
    return padded


def _stage(source: Buffer, target: Buffer, extents: Sequence[PrimExpr], name: str, is_padding: bool) -> Stmt:
    """Return loops around a block that copies elements, with zeros for those that there are not."""
    axes = [
        IterVar(Range.from_fields(const(0, dim.dtype), dim), Var(f"v{index}", dim.dtype), IterVar.DataPar)
        for index, dim in enumerate(extents)
    ]
    indices = tuple([axis.var for axis in axes])
    value: PrimExpr = BufferLoad(source, indices)
    if is_padding:
        inside = [v < dim for v, dim, size in zip(indices, source.shape, extents, strict=True) if dim is not size]
        value = if_then_else(all_of(*inside), value, const(0, source.dtype))
    point = tuple([Range.from_fields(index, const(1, index.dtype)) for index in indices])
    body = Store(target, value, indices)
    block = Block(tuple(axes), (BufferRegion(source, point),), (BufferRegion(target, point),), name, body)
    return nest_of_axes(block, axes, {}, "i")[0]


def _pad_stage(old: Buffer, new: Buffer) -> Stmt:
    sizes = [a if int_value(a) == int_value(b) else b for a, b in zip(old.shape, new.shape, strict=True)]
    return _stage(old, new, sizes, new.name, is_padding=True)


def _copy_back(padded: Buffer, old: Buffer) -> Stmt:
    return _stage(padded, old, old.shape, padded.name, is_padding=False)


def _resized(
    state: ScheduleState, block: StmtSRef, extents: dict[Var, PrimExpr], padded: dict[Buffer, Buffer]
) -> tuple[Block, Stmt]:
    """Return the block with larger axes, and with larger loops around it."""
    realize = state.realize_of(block)
    inner: Block = ReplaceBuffers(padded).visit(block.block)
    axes = [
        rebuild(axis, dom=Range.from_fields(const(0, axis.var.dtype), extents[axis.var])) for axis in inner.iter_vars
    ]
    inner = rebuild(inner, iter_vars=tuple(axes))
    pairs = zip(realize.iter_values, block.block.iter_vars, strict=True)
    sizes = {value: extents[axis.var] for value, axis in pairs}
    stmt: Stmt = rebuild(realize, block=inner)
    for sref in reversed(loops_above(block)):
        stmt = rebuild(sref.loop, extent=sizes[sref.loop.loop_var], body=stmt)
    return inner, stmt
