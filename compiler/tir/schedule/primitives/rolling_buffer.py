"""``rolling_buffer``: keeps the values that the next iteration reuses."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.arith import Analyzer
from compiler.arith.int_set import union
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Var, const, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute, uses_var
from compiler.ir.node import rebuild
from compiler.tir.schedule.buffers import ReplaceBuffers
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.bindings import conjunction, conjuncts
from compiler.tir.schedule.facts.conditions import buffer_of, check_not_output_block, scope_root
from compiler.tir.schedule.facts.regions import accessed_sets, bound_region, facts_at, relaxed_loops
from compiler.tir.schedule.facts.roles import BLOCK
from compiler.tir.schedule.primitives.cache import BufferIndex, full_region, only_writer
from compiler.tir.schedule.primitives.navigation import consumers_of
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import changed, loops_above, lowest_common_ancestor
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.stmt import BufferStore, For, Stmt


@primitive("RollingBuffer", block=BLOCK, write_buffer_index=BufferIndex("write"))
def rolling_buffer(state: ScheduleState, block: StmtSRef, write_buffer_index: int) -> None:
    """Let a loop compute only what its iterations before did not, in a buffer that wraps around.

    Along the outermost loop whose iterations overlap, the buffer has only as many elements as one iteration needs.
    For example ``sch.rolling_buffer("B", 0)``::

        for yo in range(4):                        for yo in range(4):
            for ax0 in range(6):                       for ax0 in range(6):
                with T.block("B"):                         with T.block("B"):
                    vy = …(18, yo * 4 + ax0)                   vy = T.axis.opaque(18, yo * 4 + ax0)
                    B[vy] = A[vy]            →                 T.where(yo < 1 or 2 <= ax0)
            for yi, k in T.grid(4, 3):                         B[vy % 6] = A[vy]
                with T.block("C"):                     for yi, k in T.grid(4, 3):
                    … B[vy + vk]                           … B[(vy + vk) % 6]

    The block is under a loop that its consumers are under, too. Raises ScheduleError if the buffer is not allocated in
    the scope of the block, several blocks write it, or no loop around the block and its consumers has iterations that
    overlap in elements of a dimension that the block computes one at a time.
    """
    buffer = buffer_of(block, write_buffer_index, "write")
    scope = scope_root(state, block, require_stage_pipeline=True)
    check_not_output_block(block, scope)
    only_writer(state, scope, buffer)
    consumers = consumers_of(state, block)
    around = lowest_common_ancestor([block, *consumers])
    overlaps = _overlaps(state, block, buffer, around)
    if not overlaps or not isinstance(around.stmt, For):
        refuse(
            f"The target block {{0}} with buffer {buffer.name} has no rollable loop around it: no iterations of a loop "
            "around it and its consumers overlap by a constant number of elements",
            block,
        )
    depth = {sref.loop.loop_var: at for at, sref in enumerate(loops_above(block))}
    rolled = min(overlaps, key=lambda overlap: depth[overlap.loop.loop_var])
    shape = list(buffer.shape)
    shape[rolled.dim] = const(rolled.extent, shape[rolled.dim].dtype)
    rewrite = _Roll(buffer, rebuild(buffer, shape=tuple(shape)), rolled, state.realize_of(block), overlaps)
    body = rewrite.visit(scope.block.body)
    allocated = [rewrite.rolled_buffer if each is buffer else each for each in scope.block.alloc_buffers]
    new = changed(scope.block, body=body, alloc_buffers=tuple(allocated))
    state.replace(scope, new, {**rewrite.reuse, scope.block: new})
    state.refresh(scope)


@dataclass(frozen=True, slots=True, eq=False)
class _Overlap:
    """Elements of a dimension that an iteration of a loop shares with the one before."""

    dim: int
    loop: For
    extent: int
    size: int  # how many of them the iteration before needed, too: the first ones
    start: PrimExpr  # the first element, in terms of the loop


def _overlaps(state: ScheduleState, block: StmtSRef, buffer: Buffer, around: StmtSRef) -> list[_Overlap]:
    loops = {sref.loop.loop_var: sref.loop for sref in loops_above(block)}
    analyzer = facts_at(block)
    realize = state.realize_of(block)
    relaxed = relaxed_loops(block, around)
    regions = [region for region in block.block.writes if region.buffer is buffer]
    boxes = [accessed_sets(realize, region, relaxed) for region in regions]
    overlaps: list[_Overlap] = []
    for dim, (sets, bounds) in enumerate(zip(zip(*boxes, strict=True), full_region(buffer), strict=True)):
        if not all(is_const_int(region.region[dim].extent, 1) for region in regions):
            continue  # part of what the block computes at once would be there, part not
        side = union(sets, analyzer).cover_range(bounds, analyzer)
        var, stride = _stepping(analyzer.simplify(side.min))
        extent = analyzer.simplify(side.extent)
        if var in loops and var not in relaxed and isinstance(extent, expr.IntImm) and 0 < stride < extent.value:
            assert var is not None
            axes = {a.var: v for a, v in zip(block.block.iter_vars, realize.iter_values, strict=True)}
            indices = [substitute(region.region[dim].min, axes) for region in regions]
            parts = list(conjuncts(realize.predicate))
            if not all(_leaves_out_alike(part, index, analyzer) for part in parts for index in indices):
                continue
            overlaps.append(_Overlap(dim, loops[var], extent.value, extent.value - stride, side.min))
    return overlaps


def _leaves_out_alike(condition: PrimExpr, index: PrimExpr, analyzer: Analyzer) -> bool:
    """Return whether a condition leaves out an element in each iteration that would compute it, or in none.

    It is about other dimensions, holds always, or bounds the element itself.
    """
    moving = set(free_vars(index))
    if moving.isdisjoint(free_vars(condition)) or analyzer.can_prove(condition):
        return True
    if not isinstance(condition, (expr.LT, expr.LE)):
        return False
    return moving.isdisjoint(free_vars(analyzer.simplify(condition.a - condition.b - index)))


def _stepping(start: PrimExpr) -> tuple[Var | None, int]:
    """Return the loop that an expression is a multiple of, and the factor."""
    if isinstance(start, Var):
        return start, 1
    if isinstance(start, expr.Mul) and isinstance(start.a, Var) and isinstance(start.b, expr.IntImm):
        return start.a, start.b.value
    return None, 0


class _Roll(ReplaceBuffers):
    """Lets a dimension of a buffer wrap around, and the block that writes it leave out what is there already."""

    def __init__(
        self, old: Buffer, new: Buffer, rolled: _Overlap, writer: BlockRealize, overlaps: list[_Overlap]
    ) -> None:
        ReplaceBuffers.__init__(self, {old: new})
        self.rolled_buffer = new
        self._old = old
        self._rolled = rolled
        self._writer = writer
        self._overlaps = overlaps
        self._touched = False

    def _wrapped(self, index: PrimExpr) -> PrimExpr:
        return expr.FloorMod(index, const(self._rolled.extent, index.dtype))

    def _indices(self, indices: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        at = self._rolled.dim
        return (*indices[:at], self._wrapped(indices[at]), *indices[at + 1 :])

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        new = ReplaceBuffers.visit_BufferLoad(self, n)
        assert isinstance(new, BufferLoad)
        return rebuild(new, indices=self._indices(new.indices)) if n.buffer is self._old else new

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        new = ReplaceBuffers.visit_BufferStore(self, n)
        assert isinstance(new, BufferStore)
        return rebuild(new, indices=self._indices(new.indices)) if n.buffer is self._old else new

    def visit_BufferRegion(self, n: BufferRegion) -> BufferRegion:
        new = ReplaceBuffers.visit_BufferRegion(self, n)
        if n.buffer is not self._old:
            return new
        at = self._rolled.dim
        side = new.region[at]
        if is_const_int(side.extent, 1):
            side = expr.Range.from_fields(self._wrapped(side.min), side.extent)
        else:
            side = full_region(self.rolled_buffer)[at]
        return rebuild(new, region=(*new.region[:at], side, *new.region[at + 1 :]))

    def visit_BlockRealize(self, n: BlockRealize) -> Stmt:
        block = self.visit(n.block)
        if any(region.buffer is self._old for region in (*n.block.reads, *n.block.writes)):
            ordered = self._ordered(n, block)
            self.reuse[n.block] = block = ordered
        predicate = n.predicate
        if n is self._writer:
            for overlap in self._overlaps:
                predicate = conjunction(predicate, self._is_new(overlap))
        return rebuild(n, block=block, predicate=predicate)

    def _ordered(self, realize: BlockRealize, block: Block) -> Block:
        """Return a block whose iterations along the rolled loop must run in their order."""
        pairs = zip(block.iter_vars, realize.iter_values, strict=True)
        axes = [
            rebuild(axis, iter_type=expr.IterVar.Opaque)
            if axis.iter_type == expr.IterVar.DataPar and uses_var(value, self._rolled.loop.loop_var)
            else axis
            for axis, value in pairs
        ]
        return rebuild(block, iter_vars=tuple(axes))

    def _is_new(self, overlap: _Overlap) -> PrimExpr:
        """Return the condition that no iteration of a loop before the current one computed an element."""
        (region,) = [each for each in self._writer.block.writes if each.buffer is self._old]
        index = bound_region(self._writer, region)[overlap.dim].min
        loop = overlap.loop
        analyzer = Analyzer()
        first = loop.loop_var < loop.min + const(1, loop.loop_var.dtype)
        behind = index - overlap.start >= const(overlap.size, index.dtype)
        return expr.Or(analyzer.simplify(first), analyzer.simplify(behind))
