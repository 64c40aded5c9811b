"""``rfactor``: factors a reduction into partial results and their combination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var, const, is_const_int
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from
from compiler.tir.schedule.buffers import inserted, renamed_buffer, statements_of
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.bindings import conjunction, conjuncts
from compiler.tir.schedule.facts.block_reductions import BlockReduction, reduction_of_block
from compiler.tir.schedule.facts.conditions import (
    check_reduction_block,
    check_whole_reduction,
    scope_root,
    used_variables,
)
from compiler.tir.schedule.facts.loop_kinds import check_loop, loop_again
from compiler.tir.schedule.facts.regions import facts_at
from compiler.tir.schedule.facts.roles import LOOP
from compiler.tir.schedule.facts.stated_accesses import check_closed
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import changed, loop_range, loops_above, with_child
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.stmt import For, Stmt, seq


@primitive("RFactor", loop=LOOP)
def rfactor(state: ScheduleState, loop: StmtSRef, factor_axis: int) -> StmtSRef:
    """Reduce in two steps: a new block gives a result for each iteration of a loop, the old one reduces these.

    For example ``sch.rfactor(k_0, factor_axis=0)``::

        for k_0, k_1 in T.grid(4, 32):                      for k_0, k_1 in T.grid(4, 32):
            with T.block("B"):                                  with T.block("B_rf"):
                vk = …reduce(128, k_0 * 32 + k_1)                   v0 = T.axis.spatial(4, k_0)
                with T.init():                                      v1 = T.axis.reduce(32, k_1)
                    B[0] = 0.0                       →              … B_rf[v0] = B_rf[v0] + A[v0 * 32 + v1]
                B[0] = B[0] + A[vk]                         for k_0 in range(4):
                                                                with T.block("B"):
                                                                    v0 = T.axis.reduce(4, k_0)
                                                                    … B[0] = B[0] + B_rf[v0]

    The loop, a serial one that belongs to the reduction only, becomes the dimension ``factor_axis`` of the new buffer;
    negative numbers count from after the last one. Raises ScheduleError if the loop, the block in it, or the axis is
    not as it must be.
    """
    block = _only_block(state, loop)
    scope = scope_root(state, block, require_stage_pipeline=True)
    check_reduction_block(state, block, scope)
    check_whole_reduction(state, block)
    check_closed(block)
    task = _task(state, block, loop)
    position = _axis(task, factor_axis)
    partials = tuple([_partial(buffer, position, loop.loop.extent) for buffer in task.reduction.buffers])
    first = _FactoredBlocks(task, partials, position)
    new_block = first.partial_block()
    final = first.final_block()
    _replace(state, scope, task, first.partial_nest(new_block), first.final_nest(final), partials, final.block)
    return state.sref_of(new_block)


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A reduction that is to be factorized."""

    realize: BlockRealize
    loops: list[For]
    srefs: list[StmtSRef]
    reduced: set[Var]  # the loops that belong to the reduction
    loop: For
    reduction: BlockReduction


# conditions


def _only_block(state: ScheduleState, loop: StmtSRef) -> StmtSRef:
    blocks = state.child_blocks(loop)
    if len(blocks) != 1:
        refuse(f"The loop {{0}} to be rfactored is required to have only one child block, got {len(blocks)}", loop)
    return blocks[0]


def _task(state: ScheduleState, block: StmtSRef, loop: StmtSRef) -> _Task:
    realize = state.realize_of(block)
    srefs = loops_above(block)
    spatial, reduced = _kinds_of_loops(realize)
    check_loop("rfactor", loop)
    rest = reduced - {loop.loop.loop_var}
    is_reduced = loop.loop.loop_var in reduced or is_const_int(loop.loop.extent, 1)
    if loop.loop.loop_var in spatial or rest & spatial or not is_reduced:
        refuse(
            "The loop {0} is required to be bound to reduction axes of block {1} only, and no other loop to both kinds "
            "of axes",
            loop,
            block,
        )
    _check_children(state, block, srefs, reduced | {loop.loop.loop_var})
    _check_all_written(block, realize, reduced - {loop.loop.loop_var})
    reduction = reduction_of_block(block.block)
    if reduction is None:
        _refuse_pattern(block)
    loops = [sref.loop for sref in srefs]
    return _Task(realize, loops, srefs, reduced, loop.loop, reduction)


def _check_all_written(block: StmtSRef, realize: BlockRealize, rest: set[Var]) -> None:
    """Reject a condition that leaves an iteration of the loop without any value, whose result nothing would set."""
    analyzer = facts_at(block)
    first: dict[Var, PrimExpr] = {n.loop.loop_var: n.loop.min for n in loops_above(block) if n.loop.loop_var in rest}
    spatial = _kinds_of_loops(realize)[0]
    for condition in conjuncts(substitute(realize.predicate, first)):
        if not analyzer.can_prove(condition) and set(free_vars(condition)) - spatial:
            refuse(
                f"The predicate {realize.predicate} of block {{0}} leaves iterations of the loop to be rfactored "
                "without any value",
                block,
            )


def _kinds_of_loops(realize: BlockRealize) -> tuple[set[Var], set[Var]]:
    """Return the loops that belong to data-parallel axes, and those that belong to the reduction."""
    pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    spatial = used_variables(value for axis, value in pairs if axis.iter_type == IterVar.DataPar)
    return spatial, used_variables(value for axis, value in pairs if axis.iter_type == IterVar.CommReduce)


def _check_children(state: ScheduleState, block: StmtSRef, srefs: Sequence[StmtSRef], reduced: set[Var]) -> None:
    """Reject other blocks before this one, or under the loops of its reduction."""
    if srefs and state.child_blocks(srefs[0])[0] is not block:
        refuse(
            "The reduction block {1} is required to be the first child block of its outermost loop {0}", srefs[0], block
        )
    outermost = next((sref for sref in srefs if sref.loop.loop_var in reduced), None)
    if outermost is not None and len(state.child_blocks(outermost)) != 1:
        refuse("The outermost reduction loop {0} is required to have only one child block", outermost)


def _refuse_pattern(block: StmtSRef) -> NoReturn:
    refuse(
        "The block {0} must store to each buffer first the value that changes nothing, then a sum, product, minimum or "
        "maximum of the element and another value; or to two, the place and value of the largest or smallest",
        block,
    )


def _axis(task: _Task, factor_axis: int) -> int:
    buffer = task.reduction.buffers[0]
    count = len(buffer.shape)
    if not -count - 1 <= factor_axis <= count:
        refuse(
            f"The write buffer {buffer.name} of the block {{0}} has {count} dimensions, so factor_axis must be "
            f"in [{-count - 1}, {count}], got {factor_axis}",
            task.realize.block,
        )
    return factor_axis if factor_axis >= 0 else factor_axis + count + 1


def _with(items: Sequence[PrimExpr], position: int, item: PrimExpr) -> tuple[PrimExpr, ...]:
    return (*items[:position], item, *items[position:])


def _partial(buffer: Buffer, position: int, extent: PrimExpr) -> Buffer:
    """Return the buffer of the results of each iteration."""
    return renamed_buffer(buffer, f"{buffer.name}_rf", buffer.storage_scope, _with(buffer.shape, position, extent))


# building


class _FactoredBlocks:
    """The two blocks that take the place of a reduction."""

    def __init__(self, task: _Task, partials: Sequence[Buffer], position: int) -> None:
        self._task = task
        self._partials = partials
        self._position = position
        self._pairs = list(zip(task.realize.block.iter_vars, task.realize.iter_values, strict=True))
        self._ranges = {loop.loop_var: loop_range(loop) for loop in task.loops}

    def _axis_of_loop(self, var: Var, kind: int) -> IterVar:
        return IterVar(self._ranges[var], Var(f"v{var.name}", var.dtype), kind)

    def _place(self, factor: Var) -> PrimExpr:
        """Return where the result of an iteration of the loop lies: counted from the first one."""
        first = self._task.loop.min
        return factor if is_const_int(first, 0) else factor - first

    def partial_block(self) -> BlockRealize:
        """Return the block that reduces within each iteration of the loop."""
        task = self._task
        factor = self._axis_of_loop(task.loop.loop_var, IterVar.DataPar)
        axes: list[tuple[IterVar, PrimExpr]] = [(factor, task.loop.loop_var)]
        of_loop: dict[Var, PrimExpr] = {task.loop.loop_var: factor.var}
        values: dict[Var, PrimExpr] = {}
        for axis, value in self._pairs:
            if task.loop.loop_var not in free_vars(value):
                own = rebuild(axis, var=Var(axis.var.name, axis.var.dtype))
                axes.append((own, value))
                values[axis.var] = own.var
                continue
            for var in free_vars(value):
                if var not in of_loop and var in self._ranges:
                    inner = self._axis_of_loop(var, IterVar.CommReduce)
                    axes.append((inner, var))
                    of_loop[var] = inner.var
            values[axis.var] = substitute(value, of_loop)
        return self._realize(axes, values, factor.var)

    def _realize(
        self, axes: Sequence[tuple[IterVar, PrimExpr]], values: Mapping[Var, PrimExpr], factor: Var
    ) -> BlockRealize:
        task, old = self._task, self._task.realize.block
        reduction = task.reduction
        indices = _with(substitute(reduction.stores[0].indices, values), self._position, self._place(factor))
        elements = [BufferLoad(partial, indices) for partial in self._partials]
        reads = [region for region in old.reads if region.buffer not in reduction.buffers]
        operands = substitute(reduction.values, values)
        accumulates = any(axis.iter_type == IterVar.CommReduce for axis, _ in axes)
        once = seq([BufferStore(e.buffer, v, e.indices) for e, v in zip(elements, operands, strict=True)])
        block = Block(
            tuple([axis for axis, _ in axes]),
            substitute(tuple(reads), values),
            tuple([self._written(partial, values, factor) for partial in self._partials]),
            f"{old.name_hint}_rf",
            reduction.update(elements, operands) if accumulates else once,
            reduction.initial(elements) if accumulates else None,
            annotations=old.annotations,
        )
        return BlockRealize(tuple([value for _, value in axes]), task.realize.predicate, block)

    def _written(self, partial: Buffer, values: Mapping[Var, PrimExpr], factor: Var) -> BufferRegion:
        """Return what the first block writes: the region of the old one at an iteration of the loop."""
        write = substitute(self._task.realize.block.writes[0].region, values)
        point = Range.from_fields(self._place(factor), const(1, factor.dtype))
        return BufferRegion(partial, (*write[: self._position], point, *write[self._position :]))

    def final_block(self) -> BlockRealize:
        """Return the block that reduces what the other one gives."""
        task, old = self._task, self._task.realize.block
        factor = self._axis_of_loop(task.loop.loop_var, IterVar.CommReduce)
        axes: list[tuple[IterVar, PrimExpr]] = [(factor, task.loop.loop_var)]
        values: dict[Var, PrimExpr] = {}
        for axis, value in self._pairs:
            if axis.iter_type == IterVar.DataPar:
                own = rebuild(axis, var=Var(axis.var.name, axis.var.dtype))
                axes.append((own, value))
                values[axis.var] = own.var
        reduction = task.reduction
        indices = substitute(reduction.stores[0].indices, values)
        results = [BufferLoad(buffer, indices) for buffer in reduction.buffers]
        place = self._place(factor.var)
        partials = [BufferLoad(partial, _with(indices, self._position, place)) for partial in self._partials]
        block = Block(
            tuple([axis for axis, _ in axes]),
            tuple([BufferRegion.from_point(partial.buffer, partial.indices) for partial in partials]),
            substitute(old.writes, values),
            old.name_hint,
            reduction.update(results, partials),
            reduction.initial(results),
            annotations=old.annotations,
        )
        return BlockRealize(tuple([value for _, value in axes]), self._spatial_predicate(), block)

    def _spatial_predicate(self) -> PrimExpr:
        """Return what of the condition of the block does not depend on the reduction."""
        other_loops = self._task.reduced - {self._task.loop.loop_var}
        predicate: PrimExpr = const(True, "bool")
        for condition in conjuncts(self._task.realize.predicate):
            used = set(free_vars(condition))
            if not used & (other_loops | {self._task.loop.loop_var}):
                predicate = conjunction(predicate, condition)
        return predicate

    def partial_nest(self, realize: BlockRealize) -> Stmt:
        """Return all loops around the block that gives partial results, with variables of their own."""
        fresh = {n.loop_var: Var(n.loop_var.name, n.loop_var.dtype) for n in self._task.loops}
        stmt: Stmt = substitute(realize, fresh)
        for loop in reversed(self._task.loops):
            stmt = loop_again("rfactor", loop, fresh[loop.loop_var], stmt)
        return stmt

    def final_nest(self, realize: BlockRealize) -> Stmt:
        """Return what takes the place of the outermost loop of the reduction."""
        task = self._task
        start = next(at for at, n in enumerate(task.loops) if n.loop_var in task.reduced or n is task.loop)
        stmt: Stmt = realize
        for loop in reversed(task.loops[start:]):
            if loop is task.loop or loop.loop_var not in task.reduced:
                stmt = rebuild(loop, body=stmt)
        return stmt


def _replace(
    state: ScheduleState,
    scope: StmtSRef,
    task: _Task,
    partial_nest: Stmt,
    final_nest: Stmt,
    partials: tuple[Buffer, ...],
    final: Block,
) -> None:
    with derived_from(current_span() | task.realize.span):
        top = task.loops[0]
        start = next(at for at, n in enumerate(task.loops) if n.loop_var in task.reduced or n is task.loop)
        stmt: Stmt = final_nest
        for at in range(start - 1, -1, -1):
            stmt = with_child(task.loops[at], task.loops[at + 1], stmt)
        around = task.srefs[0].parent
        assert around is not None
        siblings = statements_of(around.block.body)
        body = with_child(around.block, top, stmt).body
        position = next(at for at, sibling in enumerate(siblings) if sibling is top)
        new = changed(scope.block, body=inserted(body, position, partial_nest))
        new = changed(new, alloc_buffers=(*scope.block.alloc_buffers, *partials))
    state.replace(scope, new, {scope.block: new, task.realize.block: final})
