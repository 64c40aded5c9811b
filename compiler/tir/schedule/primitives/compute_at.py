"""``compute_at`` and ``reverse_compute_at``: move a block under a loop of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.arith import Analyzer, IterMapLevel, eval_set
from compiler.arith.int_set import IntervalSet, IntSet, union
from compiler.arith.iterators.detect_iter_map import detect_iter_map
from compiler.arith.iterators.inverse_affine_iter_map import inverse_affine_iter_map
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Range, Var, const, is_const_int
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from
from compiler.tir.expressions.op import floordiv, floormod
from compiler.tir.schedule.buffers import BlockMutator, inserted, statements_of
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.bindings import conjunction
from compiler.tir.schedule.facts.conditions import (
    check_complete_or_reduction_block,
    check_not_output_block,
    check_runs_everywhere,
    is_reduction_block,
    scope_root,
)
from compiler.tir.schedule.facts.regions import Box, accessed_sets, covers, facts_at, merged, relaxed_loops
from compiler.tir.schedule.facts.roles import BLOCK, LOOP
from compiler.tir.schedule.facts.stated_accesses import check_closed, check_reads_stated, check_writes_stated
from compiler.tir.schedule.facts.stored_elements import stored_boxes
from compiler.tir.schedule.primitives.copy_at import runs_in_each_iteration, together
from compiler.tir.schedule.primitives.inline import compute_inline, leaf_of
from compiler.tir.schedule.primitives.navigation import consumers_of, producers_of
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import ancestors, blocks_in, changed, loop_ranges, loops_above, scope_of
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferRegion
from compiler.tir.statements.stmt import For, ForKind, SeqStmt, Stmt


@primitive("ComputeAt", block=BLOCK, loop=LOOP)
def compute_at(
    state: ScheduleState, block: StmtSRef, loop: StmtSRef, preserve_unit_loops: bool = False, index: int = -1
) -> None:
    """Compute a block under a loop of its consumers, just what they need there.

    For example ``sch.compute_at("B", i)``::

        for i, j in T.grid(128, 128):              for i in range(128):
            B[i, j] = A[i, j] * 2.0                    for ax0 in range(128):
        for i, j in T.grid(128, 128):        →             B[i, ax0] = A[i, ax0] * 2.0
            C[i, j] = B[i, j] + 1.0                    for j in range(128):
                                                           C[i, j] = B[i, j] + 1.0

    Raises ScheduleError if block and loop are not as they must be.

    Parameters
    ----------
    block : BlockRV or str
        A complete or reduction block that is not an output; all of its consumers are under the loop.
    loop : LoopRV
        In the same block as ``block``, but not around it.
    index : int
        Before which statement under the loop it is put, counted from 0; -1 for the last possible place, -2 for the
        first.
    """
    if _is_mark(state, block, loop):
        return
    scope = _checked_scope(state, block, loop)
    check_not_output_block(block, scope)
    consumers = consumers_of(state, block)
    _check_under(block, loop, consumers, "consumer")
    _move(state, block, loop, scope, consumers, preserve_unit_loops, index, is_reverse=False)


@primitive("ReverseComputeAt", block=BLOCK, loop=LOOP)
def reverse_compute_at(
    state: ScheduleState, block: StmtSRef, loop: StmtSRef, preserve_unit_loops: bool = False, index: int = -1
) -> None:
    """Compute a block under a loop of its producers, just what they made there.

    For example ``sch.reverse_compute_at("C", i)``::

        for i, j in T.grid(128, 128):              for i in range(128):
            B[i, j] = A[i, j] * 2.0                    for j in range(128):
        for i, j in T.grid(128, 128):        →             B[i, j] = A[i, j] * 2.0
            C[i, j] = B[i, j] + 1.0                    for ax0 in range(128):
                                                           C[i, ax0] = B[i, ax0] + 1.0

    Raises ScheduleError if block and loop are not as they must be.

    Parameters
    ----------
    block : BlockRV or str
        A complete or reduction block; all of its producers are under the loop.
    loop, index
        As for ``compute_at``.
    """
    if _is_mark(state, block, loop):
        return
    scope = _checked_scope(state, block, loop)
    producers = producers_of(state, block)
    _check_under(block, loop, producers, "producer")
    check_reads_stated(block, producers)
    _check_no_partial_sums(state, block, loop, scope, producers)
    _check_no_gaps(state, block, loop, producers)
    _check_run_each_time(state, block, loop, producers)
    _move(state, block, loop, scope, producers, preserve_unit_loops, index, is_reverse=True)


# conditions


def _is_mark(state: ScheduleState, block: StmtSRef, loop: StmtSRef) -> bool:
    """Do what a sampled place that is not a loop asks for: nothing, or inlining."""
    if loop is StmtSRef.inline_mark():
        compute_inline(state, block)
    return loop.stmt is None


def _checked_scope(state: ScheduleState, block: StmtSRef, loop: StmtSRef) -> StmtSRef:
    """Return the block around a block and a loop, which must be the same, and a pipeline of stages."""
    scope = scope_root(state, block, require_stage_pipeline=True)
    check_complete_or_reduction_block(state, block, scope)
    if scope_of(loop) is not scope:
        refuse("Expected the block {0} and loop {1} to be under the same block scope", block, loop)
    if any(above is loop for above in ancestors(block)):
        refuse("The loop {1} is an ancestor of block {0}", block, loop)
    check_runs_everywhere(state, block)
    check_closed(block)
    check_writes_stated(block)
    return scope


def _check_under(block: StmtSRef, loop: StmtSRef, others: Sequence[StmtSRef], kind: str) -> None:
    """Reject a loop that is not around all blocks that need, or give, what a block writes or reads."""
    outside = [other for other in others if not any(above is loop for above in ancestors(other))]
    if outside:
        refuse(
            f"The primitive requires all the {kind}(s) of the given block {{0}} to be present under the target loop "
            f"{{1}}. However, there are {len(outside)} {kind}(s) that are not so: "
            f"{', '.join(f'{{{i + 2}}}' for i in range(len(outside)))}",
            block,
            loop,
            *[other.block for other in outside],
        )


def _check_run_each_time(state: ScheduleState, block: StmtSRef, loop: StmtSRef, producers: Sequence[StmtSRef]) -> None:
    """Reject producers that a condition keeps from some iterations, in which nothing would give what is read."""
    for producer in producers:
        if not runs_in_each_iteration(state, producer, loop, facts_at(producer)):
            refuse(
                "A condition may keep block {1} from some iterations of loop {2}, in which block {0} would read what "
                "is not there",
                block,
                producer,
                loop,
            )


def _check_no_partial_sums(
    state: ScheduleState, block: StmtSRef, loop: StmtSRef, scope: StmtSRef, producers: Sequence[StmtSRef]
) -> None:
    """Reject to add up what a reduction has not completed."""
    if not is_reduction_block(state, block, scope):
        return
    variables = {sref.loop.loop_var for sref in [*loops_above(loop), loop]}
    for producer in producers:
        realize = state.realize_of(producer)
        for axis, value in zip(producer.block.iter_vars, realize.iter_values, strict=True):
            if axis.iter_type == IterVar.CommReduce and uses_var(value, variables.__contains__):
                refuse(
                    "Under loop {2} the reduction of block {1} is not complete, so block {0} cannot reduce its results",
                    block,
                    producer,
                    loop,
                )


def _check_no_gaps(state: ScheduleState, block: StmtSRef, loop: StmtSRef, producers: Sequence[StmtSRef]) -> None:
    """Reject producers that leave gaps in the region that they write in one iteration, all of which the block reads.

    Memory that is used under the loop only does not keep what another iteration wrote there.
    """
    analyzer = facts_at(loop)
    for region in block.block.reads:
        written: list[Box] = []
        read: list[Box] = []
        for producer in producers:
            always = rebuild(state.realize_of(producer), predicate=const(True, "bool"))
            loops = together(producer, loop, region.buffer.storage_scope)
            written += stored_boxes(always, region.buffer, loops, analyzer)
            read += [
                accessed_sets(always, part, loops) for part in producer.block.writes if part.buffer is region.buffer
            ]
        hull = tuple([union(sides, analyzer) for sides in zip(*read, strict=True)])
        if read and not any(covers(box, hull, analyzer) for box in merged(written, analyzer)):
            refuse(
                f"In one iteration of loop {{1}} block {{0}} would read elements of {region.buffer.name} that its "
                "producers write in another one",
                block,
                loop,
            )


def _check_order(state: ScheduleState, block: StmtSRef, loop: StmtSRef, scope: StmtSRef) -> None:
    """Reject a loop that is before a producer of a block, or behind a consumer."""
    order = {sref: at for at, sref in enumerate(state.child_blocks(scope))}
    inside = [order[sref] for sref in state.child_blocks(loop)]
    early = [sref for sref in producers_of(state, block) if inside and order[sref] > max(inside)]
    late = [sref for sref in consumers_of(state, block) if inside and order[sref] < min(inside)]
    for other in (*early, *late):
        refuse(
            "Under loop {1} block {0} would be computed before what it needs, or after it is needed, by block {2}",
            block,
            loop,
            other,
        )


# the move


def _move(
    state: ScheduleState,
    block: StmtSRef,
    loop: StmtSRef,
    scope: StmtSRef,
    others: Sequence[StmtSRef],
    preserve_unit_loops: bool,
    index: int,
    *,
    is_reverse: bool,
) -> None:
    _check_order(state, block, loop, scope)
    removed = leaf_of(state, block, scope)
    position = _position(state, block, loop, index)
    analyzer = facts_at(loop)
    analyzer.bind(loop.loop.loop_var, Range.from_fields(loop.loop.min, loop.loop.extent), override=True)
    domains = _needed(state, block, loop, others, analyzer, is_reverse)
    if is_reverse:
        _check_none_left_out(block, loop, domains)
        _check_begins_first(block, loop, domains, analyzer)
    nest = _nest(state.realize_of(block), domains, preserve_unit_loops, analyzer)
    if is_reverse:
        _check_adds_once(block, loop, nest)
    rewrite = _Move(removed, loop.loop, nest, position)
    new = changed(scope.block, body=rewrite.visit(scope.block.body))
    state.replace(scope, new, {**rewrite.reuse, scope.block: new})
    state.rebound(block)


class _Move(BlockMutator):
    """Removes a statement, and inserts one into the body of a loop."""

    def __init__(self, removed: Stmt, loop: For, stmt: Stmt, position: int) -> None:
        BlockMutator.__init__(self)
        self._removed = removed
        self._loop = loop
        self._stmt = stmt
        self._position = position

    def visit_SeqStmt(self, n: SeqStmt) -> Stmt:
        left = tuple([self.visit(item) for item in n.seq if item is not self._removed])
        return left[0] if len(left) == 1 else rebuild(n, seq=left)

    def visit_For(self, n: For) -> Stmt:
        if n is self._loop:
            return rebuild(n, body=inserted(n.body, self._position, self._stmt))
        return rebuild(n, body=self.visit(n.body))

    def visit_BlockRealize(self, n: BlockRealize) -> Stmt:
        return n


def _position(state: ScheduleState, block: StmtSRef, loop: StmtSRef, index: int) -> int:
    """Return before which statement under a loop a block is put: behind its producers, before its consumers."""
    children = statements_of(loop.loop.body)
    producers, consumers = set(producers_of(state, block)), set(consumers_of(state, block))
    first, last = 0, len(children)
    for at, child in enumerate(children):
        inside = {state.sref_of(realize) for realize in blocks_in(child)}
        if inside & producers:
            first = at + 1
        if inside & consumers:
            last = min(last, at)
    assert first <= last, "a consumer is before a producer in a pipeline of stages"
    if index in (-1, -2):
        return last if index == -1 else first
    if not first <= index <= last:
        raise ArgumentError(f"compute_at: index must be from {first} to {last} under that loop, got {index}")
    return index


def _needed(
    state: ScheduleState,
    block: StmtSRef,
    loop: StmtSRef,
    others: Sequence[StmtSRef],
    analyzer: Analyzer,
    is_reverse: bool,
) -> dict[Var, IntervalSet]:
    """Return which iterations of axes are needed in one iteration of a loop; an axis that is left out runs in full."""
    own = block.block.reads if is_reverse else block.block.writes
    domains: dict[Var, IntervalSet] = {}
    made: list[tuple[BufferRegion, Box]] = []
    for region in own:
        boxes = []
        for other in others:
            theirs = other.block.writes if is_reverse else other.block.reads
            loops = (together if is_reverse else relaxed_loops)(other, loop, region.buffer.storage_scope)
            realize = state.realize_of(other)
            boxes += [accessed_sets(realize, r, loops) for r in theirs if r.buffer is region.buffer]
        if boxes:
            needed = tuple([union(sides, analyzer) for sides in zip(*boxes, strict=True)])
            _solve(block, region, needed, domains, analyzer, is_reverse)
            made.append((region, needed))
    if is_reverse:
        _check_reads_made(block, made, domains, analyzer)
    return domains


def _check_reads_made(
    block: StmtSRef, made: Sequence[tuple[BufferRegion, Box]], domains: Mapping[Var, IntervalSet], analyzer: Analyzer
) -> None:
    """Reject a block of which the iterations between those that need what is made read something else."""
    values = {axis.var: _iterations(axis, domains, analyzer) for axis in block.block.iter_vars}
    for region, box in made:
        ends = ([eval_set(end, values, analyzer) for end in (r.min, r.min + r.extent - 1)] for r in region.region)
        if not covers(box, tuple([union(sides, analyzer) for sides in ends]), analyzer):
            _refuse_pattern(block, region.buffer)


def _check_none_left_out(block: StmtSRef, loop: StmtSRef, domains: dict[Var, IntervalSet]) -> None:
    """Reject a block with iterations that need nothing of the producers, and so belong to no iteration of the loop."""
    ranges = loop_ranges([*loops_above(loop), loop])
    analyzer = facts_at(block)
    for axis in block.block.iter_vars:
        if axis.var not in domains:
            continue
        whole = IntSet.from_range(_domain(axis))
        values = domains[axis.var]
        made = union([eval_set(end, ranges, analyzer) for end in (values.min_value, values.max_value)], analyzer)
        if analyzer.can_prove(made.min_value > whole.min_value) or analyzer.can_prove(made.max_value < whole.max_value):
            refuse(
                f"Under loop {{1}} block {{0}} would be computed only for the values of axis {axis.var.name} from "
                f"{made.min_value} to {made.max_value}",
                block,
                loop,
            )


def _check_begins_first(
    block: StmtSRef, loop: StmtSRef, domains: Mapping[Var, IntervalSet], analyzer: Analyzer
) -> None:
    """Reject a reduction whose first iteration, which sets the initial values, would not be the first to run."""
    first: dict[Var, PrimExpr] = {sref.loop.loop_var: sref.loop.min for sref in [*loops_above(loop), loop]}
    for axis in block.block.iter_vars:
        begin = substitute(domains[axis.var].min_value, first) if axis.var in domains else _domain(axis).min
        if axis.iter_type == IterVar.CommReduce and not analyzer.can_prove(begin <= _domain(axis).min):
            refuse(
                f"Under loop {{1}} the reduction of block {{0}} would not begin with the first value of axis "
                f"{axis.var.name}, where the initial values are set",
                block,
                loop,
            )


def _check_adds_once(block: StmtSRef, loop: StmtSRef, nest: Stmt) -> None:
    """Reject a reduction of which two iterations of the loops would add the same, as they make the same elements."""
    outer = loop_ranges([*loops_above(loop), loop])
    inner: dict[Var, Range] = {}
    while isinstance(nest, For):
        inner[nest.loop_var] = Range.from_fields(nest.min, nest.extent)
        nest = nest.body
    assert isinstance(nest, BlockRealize)
    axes = zip(nest.block.iter_vars, nest.iter_values, strict=True)
    added = [value for axis, value in axes if axis.iter_type == IterVar.CommReduce]
    if not any(uses_var(value, outer.__contains__) for value in added):
        return  # all of it is added after each initial value
    loops = {**outer, **inner}
    idle = [var for var in outer if not any(uses_var(value, var) for value in nest.iter_values)]
    own = {var: loops[var] for var in loops if any(uses_var(value, var) for value in added)}
    ways = [(added, own), (nest.iter_values, {var: loops[var] for var in loops if var not in idle})]
    is_once = any(detect_iter_map(values, over, True, IterMapLevel.Bijective).indices for values, over in ways)
    if not is_once or any(not is_const_int(outer[var].extent, 1) for var in idle):
        refuse(
            "Some of the iterations around it make the same elements, all of which block {0} would add under loop {1}",
            block,
            loop,
        )


def _solve(
    block: StmtSRef,
    region: BufferRegion,
    needed: Sequence[IntervalSet],
    domains: dict[Var, IntervalSet],
    analyzer: Analyzer,
    is_reverse: bool,
) -> None:
    """Find the iterations of axes for which a block accesses what is needed of a buffer."""
    axes = {axis.var: axis for axis in block.block.iter_vars}
    unsolved = False
    for side, need in zip(region.region, needed, strict=True):
        used = [var for var in axes if uses_var(side, var)]
        solved = _solved(side, used[0], need, analyzer, is_reverse) if len(used) == 1 else None
        if solved is not None:
            former = domains.get(used[0])
            if former is not None and is_reverse:
                solved = _smaller(block, region.buffer, former, solved, analyzer)
            elif former is not None:
                solved = union([former, solved], analyzer)
            domains[used[0]] = solved
        elif used:
            unsolved = True
        elif is_reverse and not covers((need,), (IntSet.from_range(side),), analyzer):
            _refuse_pattern(block, region.buffer)
    if unsolved:
        inverse = _inverse(region, needed, list(axes.values()), analyzer)
        if is_reverse and not inverse:
            _refuse_pattern(block, region.buffer)
        for var, values in inverse.items():
            domains.setdefault(var, values)


def _smaller(block: StmtSRef, buffer: Buffer, a: IntervalSet, b: IntervalSet, analyzer: Analyzer) -> IntervalSet:
    """Return those iterations for which two accesses both find what they need."""
    if covers((a,), (b,), analyzer):
        return b
    if not covers((b,), (a,), analyzer):
        _refuse_pattern(block, buffer)
    return a


def _solved(side: Range, var: Var, need: IntervalSet, analyzer: Analyzer, is_exact: bool) -> IntervalSet | None:
    """Return for which values of a variable a side ``[c * var + b, c * var + b + e)`` of a box meets what is needed."""
    if not need.is_bounded():
        return None
    equation = detect_linear_equation(side.min, [var])
    if not equation:
        return None
    factor, base = equation
    if not (isinstance(factor, IntImm) and isinstance(side.extent, IntImm)):
        return None
    step, width = factor.value, side.extent.value
    if step <= 0 or (is_exact and step != width):
        return None
    low, high = need.min_value - base, need.max_value - base
    if is_exact and not (_divides(step, low, analyzer) and _divides(step, high + 1, analyzer)):
        return None
    if step == width == 1:
        return IntervalSet(analyzer.simplify(low), analyzer.simplify(high))
    first = analyzer.simplify(floordiv(low - width + step, step))
    return IntervalSet(first, analyzer.simplify(floordiv(high, step)))


def _divides(step: int, value: PrimExpr, analyzer: Analyzer) -> bool:
    return analyzer.can_prove(floormod(value, step).equal(0))


def _inverse(
    region: BufferRegion, needed: Sequence[IntervalSet], axes: Sequence[IterVar], analyzer: Analyzer
) -> dict[Var, IntervalSet]:
    """Return the values of axes for which one element each is accessed of a box; nothing where they cannot be told."""
    if any(not is_const_int(side.extent, 1) for side in region.region):
        return {}
    kinds = IterVar.DataPar, IterVar.CommReduce
    domains = {axis.var: axis.dom for axis in axes if axis.dom is not None and axis.iter_type in kinds}
    others = {axis.var for axis in axes} - set(domains)
    if any(uses_var(side.min, others.__contains__) for side in region.region):
        return {}
    result = detect_iter_map([side.min for side in region.region], domains, True, IterMapLevel.Bijective)
    if not result.indices:
        return {}
    element = [Var(f"e{index}", side.min.dtype) for index, side in enumerate(region.region)]
    values = inverse_affine_iter_map(result.indices, element)
    sets = dict(zip(element, needed, strict=True))
    return {var: eval_set(value, sets, analyzer) for var, value in values.items()}


def _refuse_pattern(block: StmtSRef, buffer: Buffer) -> None:
    refuse(
        f"Each element that is made of buffer {buffer.name} must be read by the iterations of one value of each axis "
        "of block {0}",
        block,
    )


def _iterations(axis: IterVar, domains: Mapping[Var, IntervalSet], analyzer: Analyzer) -> IntervalSet:
    """Return which iterations of an axis are needed: no others than it has."""
    every = IntSet.from_range(_domain(axis))
    needed = domains.get(axis.var, every)
    return every if not needed.is_bounded() or covers((needed,), (every,), analyzer) else needed


def _nest(
    realize: BlockRealize, domains: dict[Var, IntervalSet], preserve_unit_loops: bool, analyzer: Analyzer
) -> Stmt:
    """Return loops over the iterations that are needed, around a block."""
    values: list[PrimExpr] = []
    loops: list[tuple[Var, PrimExpr]] = []
    predicate: PrimExpr = const(True, "bool")
    simplify = analyzer.simplify
    for axis in realize.block.iter_vars:
        bounds, needed = IntSet.from_range(_domain(axis)), _iterations(axis, domains, analyzer)
        extent = simplify(needed.max_value - needed.min_value + 1)
        value = needed.min_value
        if preserve_unit_loops or not is_const_int(extent, 1):
            var = Var(f"ax{len(loops)}", axis.var.dtype)
            loops.append((var, extent))
            value = simplify(value + var)
            analyzer.bind(var, Range.from_fields(const(0, var.dtype), extent))
        values.append(value)
        for condition in (value >= bounds.min_value, value < bounds.max_value + 1):
            if not analyzer.can_prove(condition):
                predicate = conjunction(predicate, simplify(condition))
    with derived_from(current_span() | realize.span):
        stmt: Stmt = rebuild(realize, iter_values=tuple(values), predicate=predicate)
        for var, extent in reversed(loops):
            stmt = For(var, const(0, var.dtype), extent, ForKind.SERIAL, stmt)
    return stmt


def _domain(axis: IterVar) -> Range:
    assert axis.dom is not None
    return axis.dom
