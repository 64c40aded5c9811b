"""Properties of blocks that primitives require: affine bindings, region cover, stage pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from compiler.arith.iterators.detect_iter_map import detect_iter_map
from compiler.ir.expr.primexpr import is_const_int
from compiler.tir.schedule.facts.regions import Box, accessed_box, covers, facts_at, merged, relaxed_loops, written_box
from compiler.tir.schedule.sref import BlockScope, DepKind, StmtSRef
from compiler.tir.schedule.tree import loop_ranges, loops_above, lowest_common_ancestor
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.buffer import BufferRegion

if TYPE_CHECKING:
    from compiler.tir.schedule.state import ScheduleState


def has_affine_binding(realize: BlockRealize, block: StmtSRef) -> bool:
    """Return whether the values of a block's axes are quasi-affine in the loops around it, and independent."""
    if not realize.iter_values:
        return True
    ranges = loop_ranges(loops_above(block))
    result = detect_iter_map(realize.iter_values, ranges, realize.predicate)
    if not result.indices:
        return False
    return all(not index.args or is_const_int(index.args[0].scale, 1) for index in result.indices)


def is_stage_pipeline(state: ScheduleState, scope: BlockScope) -> bool:
    """Return whether the blocks of a scope are stages, and note of each whether what it reads is written before."""
    covered = True
    for block in scope.blocks:
        info = state.info(block)
        info.region_cover = _reads_what_is_written(state, scope, block)
        covered &= info.region_cover
    return covered and all(dep.kind in (DepKind.RAW, DepKind.WAW) for dep in scope.dependencies)


def _reads_what_is_written(state: ScheduleState, scope: BlockScope, consumer: StmtSRef) -> bool:
    """Return whether the stages before a block write all that it reads of what they write."""
    producers = [dep.src for dep in scope.get_deps_by_dst(consumer) if dep.kind == DepKind.RAW]
    return all(_is_covered(state, consumer, region, producers) for region in consumer.block.reads)


def _is_covered(state: ScheduleState, consumer: StmtSRef, region: BufferRegion, producers: Iterable[StmtSRef]) -> bool:
    buffer = region.buffer
    writes = [(p, written) for p in producers for written in p.block.writes if written.buffer is buffer]
    if not writes:
        return True
    around = lowest_common_ancestor([consumer, *[producer for producer, _ in writes]])
    analyzer = facts_at(around)
    boxes: list[Box] = []
    for producer, written in writes:
        loops = relaxed_loops(producer, around, buffer.storage_scope)
        box = written_box(state.realize_of(producer), written, loops, analyzer)
        if box is not None:
            boxes.append(box)
    loops = relaxed_loops(consumer, around, buffer.storage_scope)
    needed = accessed_box(state.realize_of(consumer), region, loops, analyzer)
    return any(covers(box, needed, analyzer) for box in merged(boxes, analyzer))
