"""Preconditions of primitives."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.arith import estimate_region_lower_bound
from compiler.arith.int_set import IntSet
from compiler.ir.expr.primexpr import IterVar, Range, Var, const, is_const_int
from compiler.ir.expr.substitute import free_vars
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.dependencies import accessed_buffers
from compiler.tir.schedule.facts.regions import covers, facts_at
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import loop_ranges, loops_above, scope_of
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer

_COMPLETE = """\
1) Dominant: the block is the only writer of its output, dominating the reader of its output buffers
2) all the block vars are data parallel
3) no overlap between the buffers the block reads and writes"""
_REDUCTION = """\
1) The block has the `init` statement
2) All the block bindings are quasi-affine expressions
3) All block vars are either data parallel block vars or reduction block vars
4) Dominant: the block is the only writer of its output, dominating the reader of its output buffers
5) The reduction block vars are not used to index the output buffers"""


def scope_root(state: ScheduleState, sref: StmtSRef, require_stage_pipeline: bool = False) -> StmtSRef:
    """Return the block around a loop or block, in which the primitive works."""
    scope = scope_of(sref)
    assert sref.stmt is not None
    if scope is None:
        refuse("The primitive does not operate on the root block")
    if require_stage_pipeline and not state.info(scope).stage_pipeline:
        refuse(
            "The scope {0} is not a stage pipeline.\n"
            "Definition of a scope that is a stage pipeline:\n"
            "- The region cover property holds for every of its child blocks\n"
            "- No write-after-read dependency or opaque dependency, only read-after-write and write-after-write "
            "dependencies are allowed\n"
            "- All the statements in the scope are schedulable statements, i.e. Block and For",
            scope,
        )
    return scope


# kinds of blocks


def _is_dominant(state: ScheduleState, block: StmtSRef, among: StmtSRef) -> bool:
    """Return whether a block is the only one below a loop or block that writes its output."""
    written = {region.buffer for region in block.block.writes}
    others = (other for other in state.child_blocks(among) if other is not block)
    return not any(buffer in written for other in others for buffer in accessed_buffers(other.block)[1])


def _lacks_of_complete_block(state: ScheduleState, block: StmtSRef, among: StmtSRef) -> int:
    """Return the number of the condition of complete blocks that does not hold, 0 if all do."""
    stmt = block.block
    if not _is_dominant(state, block, among):
        return 1
    if any(axis.iter_type != IterVar.DataPar for axis in stmt.iter_vars):
        return 2
    read = {region.buffer for region in stmt.reads}
    return 3 if any(region.buffer in read for region in stmt.writes) else 0


def _lacks_of_reduction_block(state: ScheduleState, block: StmtSRef, among: StmtSRef) -> int:
    """Return the number of the condition of reduction blocks that does not hold, 0 if all do."""
    stmt = block.block
    if stmt.init is None:
        return 1
    if not state.info(block).affine_binding:
        return 2
    if any(axis.iter_type not in (IterVar.DataPar, IterVar.CommReduce) for axis in stmt.iter_vars):
        return 3
    if not _is_dominant(state, block, among):
        return 4
    return 5 if _reduces_into_its_index(stmt) else 0


def _reduces_into_its_index(block: Block) -> bool:
    reduced = {axis.var for axis in block.iter_vars if axis.iter_type == IterVar.CommReduce}
    return bool(reduced & used_variables(region.region for region in block.writes))


def used_variables(items: Iterable[object]) -> set[Var]:
    """Return the variables that some expressions use."""
    return {var for item in items for var in free_vars(item)}


def is_complete_block(state: ScheduleState, block: StmtSRef, scope: StmtSRef) -> bool:
    """Return whether a block alone writes its output in ``scope``, each element once and from other buffers."""
    return _lacks_of_complete_block(state, block, scope) == 0


def is_reduction_block(state: ScheduleState, block: StmtSRef, scope: StmtSRef) -> bool:
    """Return whether a block alone writes its output in ``scope``, by a reduction whose initial value it sets."""
    return _lacks_of_reduction_block(state, block, scope) == 0


def check_complete_block(state: ScheduleState, block: StmtSRef, scope: StmtSRef) -> None:
    """Reject a block that is not complete."""
    lack = _lacks_of_complete_block(state, block, scope)
    _check_kind(block, lack, "complete", _COMPLETE)


def check_reduction_block(state: ScheduleState, block: StmtSRef, scope: StmtSRef) -> None:
    """Reject a block that is not a reduction."""
    lack = _lacks_of_reduction_block(state, block, scope)
    _check_kind(block, lack, "reduction", _REDUCTION)


def _check_kind(block: StmtSRef, lack: int, kind: str, definition: str) -> None:
    if lack:
        refuse(
            f"The block {{0}} is not a {kind} block - it violates condition #{lack}.\n"
            f"Definition of a {kind} block:\n{definition}",
            block,
        )


def check_whole_reduction(state: ScheduleState, block: StmtSRef) -> None:
    """Reject a block that adds to what it made before in other iterations of loops outside of its scope."""
    within = {sref.loop.loop_var for sref in loops_above(block)}
    pairs = zip(block.block.iter_vars, state.realize_of(block).iter_values, strict=True)
    reduced = {var for axis, value in pairs if axis.iter_type == IterVar.CommReduce for var in free_vars(value)}
    if not reduced <= within:
        refuse("Block {0} adds to elements that earlier iterations outside of its scope made", block)


def check_complete_or_reduction_block(state: ScheduleState, block: StmtSRef, scope: StmtSRef) -> None:
    """Reject a block that is neither complete nor a reduction."""
    complete = _lacks_of_complete_block(state, block, scope)
    reduction = _lacks_of_reduction_block(state, block, scope) if complete else 0
    if reduction:
        refuse(
            "The block {0} is neither a complete block nor a reduction block, so its scope has no compact dataflow.\n"
            f"It violates condition #{complete} of a complete block and condition #{reduction} of a reduction block.\n"
            f"Definition of a complete block:\n{_COMPLETE}\nDefinition of a reduction block:\n{_REDUCTION}",
            block,
        )


def check_subtree_compact_dataflow(state: ScheduleState, subtree: StmtSRef) -> None:
    """Reject a loop or block below which not all blocks are complete or reductions, seen on their own."""
    for block in state.child_blocks(subtree):
        if is_complete_block(state, block, subtree) or is_reduction_block(state, block, subtree):
            continue
        complete = _lacks_of_complete_block(state, block, subtree)
        reduction = _lacks_of_reduction_block(state, block, subtree)
        refuse(
            "The queried subtree root {0} in SRef tree does not have compact dataflow, because its child block {1} "
            "on SRef tree is neither a local complete block nor a local reduction block.\n"
            f"It violates condition #{complete} of a local complete block, and condition #{reduction} of a local "
            f"reduction block.\nDefinition of a local complete block:\n{_COMPLETE}\n"
            f"Definition of a local reduction block:\n{_REDUCTION}",
            subtree,
            block,
        )


# single conditions


def check_affine_binding(state: ScheduleState, block: StmtSRef) -> None:
    """Reject a block whose axes do not have quasi-affine, independent values."""
    if not state.info(block).affine_binding:
        refuse("The block {0} is required to have an affine binding", block)


def is_output_block(block: StmtSRef, scope: StmtSRef) -> bool:
    """Return whether a block writes a buffer that its scope does not allocate."""
    allocated = set(scope.block.alloc_buffers)
    return any(region.buffer not in allocated for region in block.block.writes)


def check_not_output_block(block: StmtSRef, scope: StmtSRef) -> None:
    """Reject a block that writes what is read outside of its scope."""
    if is_output_block(block, scope):
        refuse("The block {0} is an output block", block)


def check_runs_everywhere(state: ScheduleState, block: StmtSRef) -> None:
    """Reject a block with a condition that keeps it from some values of its axes, instead of just from repetitions."""
    if not is_const_int(state.realize_of(block).predicate, 1):
        check_all_values(state, block)


def check_all_values(state: ScheduleState, block: StmtSRef) -> None:
    """Reject a block that the loops and the condition around it do not give all values of its axes."""
    realize = state.realize_of(block)
    domains = [axis.dom for axis in realize.block.iter_vars]
    points = [Range.from_fields(value, const(1, value.dtype)) for value in realize.iter_values]
    loops = loop_ranges(loops_above(block))
    box = estimate_region_lower_bound(points, loops, realize.predicate)
    analyzer = facts_at(block)
    if box is None or not covers(tuple(box), tuple(IntSet.from_range(dom) for dom in domains if dom), analyzer):
        refuse(
            "The loops and the predicate of block {0} may keep it from some values of its axes, so it cannot be moved",
            block,
        )


def buffer_of(block: StmtSRef, index: int, kind: str) -> Buffer:
    """Return a buffer that a block reads or writes, by its place in the signature."""
    regions = block.block.reads if kind == "read" else block.block.writes
    if not 0 <= index < len(regions):
        refuse(
            f"The {kind}_buffer_index is out of range. The block {{0}} has {len(regions)} {kind} regions, so "
            f"the index should be in [0, {len(regions)}), got {index}",
            block,
        )
    return regions[index].buffer
