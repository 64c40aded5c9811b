"""The regions that the blocks of a scope access under some of their loops."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from compiler.arith import Analyzer, estimate_region_lower_bound, estimate_region_upper_bound
from compiler.arith.int_set import IntervalSet, IntSet, intersect, union
from compiler.arith.interval_arithmetic import eval_set
from compiler.ir.expr.primexpr import PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import free_vars, substitute, uses_var
from compiler.tir.schedule.facts.bindings import conjunction, conjuncts
from compiler.tir.schedule.facts.thread_scope import is_shared_among
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.tree import ancestors, loop_range
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferRegion
from compiler.tir.statements.stmt import For

if TYPE_CHECKING:
    from compiler.tir.schedule.state import ScheduleState

Box = tuple[IntervalSet, ...]


def facts_at(sref: StmtSRef) -> Analyzer:
    """Return what is known inside of the loops and blocks around a loop or block."""
    analyzer = Analyzer()
    for around in list(ancestors(sref))[::-1]:
        if around.is_block:
            for axis in around.block.iter_vars:
                if axis.dom is not None:
                    analyzer.bind(axis.var, axis.dom, override=True)
        else:
            analyzer.bind(around.loop.loop_var, loop_range(around.loop), override=True)
    return analyzer


def axis_values(realize: BlockRealize) -> dict[Var, PrimExpr]:
    """Return what the axes of a block stand for."""
    return {axis.var: value for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)}


def bound_region(realize: BlockRealize, region: BufferRegion) -> tuple[Range, ...]:
    """Return a region that a block accesses, in terms of the loops around the block."""
    return substitute(region.region, axis_values(realize))


def relaxed_loops(block: StmtSRef, above: StmtSRef | None, storage_scope: str | None = None) -> dict[Var, Range]:
    """Return the loops around a block up to, but without, one above; and further out the threads that share memory.

    Without ``above`` these are all loops of the block's scope. The threads further out that all see ``storage_scope``
    are loops as well.
    """
    relaxed: dict[Var, Range] = {}
    inside = True
    for around in ancestors(block):
        if around is above or around.is_block:
            inside = False
        loop = around.stmt
        if isinstance(loop, For) and (inside or _is_shared(loop, storage_scope)):
            relaxed[loop.loop_var] = loop_range(loop)
    return relaxed


def _is_shared(loop: For, storage_scope: str | None) -> bool:
    if storage_scope is None or loop.thread_binding is None:
        return False
    return is_shared_among(storage_scope, loop.thread_binding.thread_tag)


def written_box(
    realize: BlockRealize, region: BufferRegion, loops: Mapping[Var, Range], analyzer: Analyzer
) -> Box | None:
    """Return a box of elements that loops around a block are sure to write, or None if none can be told.

    The region is what one iteration writes.
    """
    ranges = bound_region(realize, region)
    if not ranges:  # the only element
        return ()
    predicate = _needed_predicate(realize.predicate, set(free_vars(ranges)), loops)
    sets = estimate_region_lower_bound(ranges, loops, predicate)
    return None if sets is None else tuple(sets)


def _needed_predicate(predicate: PrimExpr, used: Collection[Var], loops: Mapping[Var, Range]) -> PrimExpr:
    """Return a condition with the loops at their first iteration that do not matter, as far as it is not certain."""
    analyzer = Analyzer.knowing(loops)
    first = {var: bounds.min for var, bounds in loops.items() if var not in used}
    needed: PrimExpr = const(True, "bool")
    for condition in conjuncts(substitute(predicate, first)):
        if not analyzer.can_prove(condition):
            needed = conjunction(needed, condition)
    return needed


def accessed_box(realize: BlockRealize, region: BufferRegion, loops: Mapping[Var, Range], analyzer: Analyzer) -> Box:
    """Return a box of elements that holds what loops around a block read; the region is what one iteration reads."""
    sets = _all_relaxed(estimate_region_upper_bound(bound_region(realize, region), loops, realize.predicate), loops)
    return tuple([_within(one, whole, analyzer) for one, whole in zip(sets, _extent(region.buffer), strict=True)])


def accessed_sets(realize: BlockRealize, region: BufferRegion, loops: Mapping[Var, Range]) -> Box:
    """Return a box of elements outside of which loops around a block access none, were there no condition on it."""
    return tuple(_all_relaxed(estimate_region_upper_bound(bound_region(realize, region), loops), loops))


def _all_relaxed(sets: Sequence[IntervalSet], loops: Mapping[Var, Range]) -> list[IntervalSet]:
    """Return sets without loops of which the bounds of inner loops brought in the variables."""
    analyzer = Analyzer()
    relaxed = list(sets)
    while any(uses_var((one.min_value, one.max_value), loops.__contains__) for one in relaxed):
        relaxed = [
            union([eval_set(end, loops, analyzer) for end in (one.min_value, one.max_value)], analyzer)
            for one in relaxed
        ]
    return relaxed


def _within(one: IntervalSet, dim: IntervalSet, analyzer: Analyzer) -> IntervalSet:
    """Return the part of an interval that lies within a dimension."""
    return one if covers((dim,), (one,), analyzer) else intersect([one, dim], analyzer)


def _extent(buffer: Buffer) -> Iterator[IntervalSet]:
    for dim in buffer.shape:
        yield IntSet.from_range(Range.from_fields(const(0, dim.dtype), dim))


def covers(outer: Box, inner: Box, analyzer: Analyzer) -> bool:
    """Return whether a box is known to lie within another one."""
    if any(i.is_nothing() for i in inner):
        return True
    return all(
        o.is_bounded()
        and i.is_bounded()
        and analyzer.can_prove(o.min_value <= i.min_value)
        and analyzer.can_prove(o.max_value >= i.max_value)
        for o, i in zip(outer, inner, strict=True)
    )


def merged(boxes: Sequence[Box], analyzer: Analyzer) -> list[Box]:
    """Return boxes that hold the same elements as some, merged where they adjoin along one dimension."""
    done: list[Box] = []
    for new in boxes:
        box, at = new, 0
        while at < len(done):
            joined = _union(done[at], box, analyzer)
            if joined is None:
                at += 1
            else:
                box, at = joined, 0
                done = [other for other in done if not covers(joined, other, analyzer)]
        done.append(box)
    return done


def _union(a: Box, b: Box, analyzer: Analyzer) -> Box | None:
    """Return two boxes as one; None if that would hold more elements than they do."""
    if covers(a, b, analyzer):
        return a
    if covers(b, a, analyzer):
        return b
    different = [
        at
        for at, (x, y) in enumerate(zip(a, b, strict=True))
        if not covers((x,), (y,), analyzer) or not covers((y,), (x,), analyzer)
    ]
    if len(different) != 1:
        return None
    at = different[0]
    for low, high in ((a[at], b[at]), (b[at], a[at])):
        adjoin = analyzer.can_prove(low.min_value <= high.min_value) and analyzer.can_prove(
            low.max_value + 1 >= high.min_value
        )
        if adjoin and analyzer.can_prove(low.max_value <= high.max_value):
            return (*a[:at], IntervalSet(low.min_value, high.max_value), *a[at + 1 :])
    return None


def pointers_at(state: ScheduleState, scope: StmtSRef) -> dict[Var, Buffer]:
    """Return the buffers that are visible in a block, by their pointers."""
    buffers = list(state.function_of(scope).buffer_map.values())
    for around in (scope, *ancestors(scope)):
        if around.is_block:
            buffers += around.block.alloc_buffers
            buffers += [match.buffer for match in around.block.match_buffers]
    return {buffer.data: buffer for buffer in buffers}


def variables_at(state: ScheduleState, block: StmtSRef) -> dict[str, Var]:
    """Return the variables of the function that a block is in, which texts in traces use, by their names."""
    function = state.function_of(block)
    buffers = function.buffer_map.values()
    used = free_vars(tuple([(*buffer.shape, *buffer.strides, buffer.elem_offset) for buffer in buffers]))
    return {var.name: var for var in (*function.params, *used)}
