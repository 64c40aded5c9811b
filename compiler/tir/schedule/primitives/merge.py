"""``merge``: merges consecutive loop nests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IterVar, Var, const
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from
from compiler.tir.schedule.buffers import statements_of
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.conditions import scope_root
from compiler.tir.schedule.facts.dependencies import accessed_buffers
from compiler.tir.schedule.facts.initial_values import scatters
from compiler.tir.schedule.facts.loop_kinds import check_loop, loop_like
from compiler.tir.schedule.facts.regions import accessed_box, covers, facts_at, merged, relaxed_loops, written_box
from compiler.tir.schedule.facts.roles import LOOP, ListRole
from compiler.tir.schedule.primitives.loop_nest import check_from_zero
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import LoopSRef, StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import ancestors, changed, lowest_common_ancestor, matching_blocks
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.stmt import For, SeqStmt, Stmt

_Nest = list[StmtSRef]


@primitive("Merge", loops=ListRole(LOOP))
def merge(state: ScheduleState, *loops: StmtSRef) -> LoopSRef:
    """Merge loops that stand one after the other, with the loops around them, into one nest.

    For example ``sch.merge(i, j)``::

        for i in range(128):                    for i_m in range(128):
            B[i] = A[i] * 2.0            →          B[i_m] = A[i_m] * 2.0
        for j in range(128):                        C[i_m] = B[i_m] + 1.0
            C[j] = B[j] + 1.0

    Raises ScheduleError if the loops are not as they must be, reduce, write the same buffer, or a block would read what
    is not written yet, and ArgumentError if there are fewer than two.

    Parameters
    ----------
    *loops : LoopRV
        At least two loops from 0 on, without annotations or threads, in their order; each is the innermost of a nest,
        and the nests have as many loops of the same extents and follow directly upon each other.  Whatever they are,
        the loops of the one nest are serial, as in classic TVM.
    """
    if len(loops) < 2:
        raise ArgumentError(f"merge: expected at least 2 loops, got {len(loops)}")
    scope = scope_root(state, loops[0], require_stage_pipeline=True)
    above = lowest_common_ancestor(list(loops))
    nests = [_nest_below(above, loop) for loop in loops]
    counts = [len(state.child_blocks(nest[0])) for nest in nests]
    _check_alike(nests)
    _check_parallel(state, nests)
    _check_written_once(state, nests)
    innermost = _replace(state, above, nests)
    state.refresh(scope)
    stages = _Stages(state.child_blocks(innermost), counts)
    if not state.info(scope).stage_pipeline or not all(
        _reads_same_iteration(state, innermost, writer, reader) for writer, reader in stages.pairs()
    ):
        refuse(
            "The loops around {0} can't be merged: a block would read what later iterations write, or write what they "
            "read",
            innermost,
        )
    return innermost


@dataclass(frozen=True, slots=True)
class _Stages:
    """The blocks of one nest, and how many of them come from each of the nests that were merged."""

    blocks: Sequence[StmtSRef]
    counts: Sequence[int]

    def pairs(self) -> Iterator[tuple[StmtSRef, StmtSRef]]:
        """Yield the pairs of a block and a later one that comes from another nest."""
        nests = [nest for nest, count in enumerate(self.counts) for _ in range(count)]
        for (first, block), (second, later) in combinations(zip(nests, self.blocks, strict=True), 2):
            if first != second:
                yield block, later


def _reads_same_iteration(state: ScheduleState, loop: StmtSRef, writer: StmtSRef, reader: StmtSRef) -> bool:
    """Return whether a block reads, of what another one writes, nothing that a later iteration of a loop writes.

    The condition of the writer does not matter: what it never writes has its value from elsewhere.
    """
    shared = set(accessed_buffers(writer.block)[1]) & set(accessed_buffers(reader.block)[0])
    analyzer = facts_at(writer)
    always = rebuild(state.realize_of(writer), predicate=const(True, "bool"))
    inside, around = relaxed_loops(writer, loop), relaxed_loops(reader, loop)
    for buffer in shared:
        boxes = [written_box(always, r, inside, analyzer) for r in writer.block.writes if r.buffer is buffer]
        read = [
            accessed_box(state.realize_of(reader), r, around, analyzer)
            for r in reader.block.reads
            if r.buffer is buffer
        ]
        written = merged([box for box in boxes if box is not None], analyzer)
        covered = all(any(covers(box, part, analyzer) for box in written) for part in read)
        if not read or not covered or scatters(writer.block, buffer):
            return False
    return True


def _nest_below(above: StmtSRef, loop: StmtSRef) -> _Nest:
    """Return the loops from below a loop or block to another one, outermost first."""
    nest = [loop]
    for around in ancestors(loop):
        if around is above:
            break
        nest.insert(0, around)
    body = above.block.body if above.is_block else above.loop.body
    if not any(stmt is nest[0].stmt for stmt in statements_of(body)) or any(sref.is_block for sref in nest):
        refuse("The loop {0} does not stand beside the other loops in one block", loop)
    for outer, inner in pairwise(nest):
        if outer.loop.body is not inner.loop:
            refuse("The inner loop {1} is not the only child of outer loop {0}", outer, inner)
    for sref in nest:
        check_loop("merge", sref)
        check_from_zero(sref)
    return nest


def _check_alike(nests: Sequence[_Nest]) -> None:
    """Reject nests that differ in their extents, or that do not follow upon each other."""
    for before, after in pairwise(nests):
        if len(before) != len(after):
            refuse(
                "The loops {0} and {1} must be nested equally deep below their common ancestor", before[-1], after[-1]
            )
        for one, other in zip(before, after, strict=True):
            inside = {sref.loop.loop_var for sref in after}
            same = Analyzer().can_prove_equal(one.loop.extent, other.loop.extent)
            if not same or uses_var(other.loop.extent, inside.__contains__):
                refuse("The loops {0} and {1} must be of the same constant extent", one, other)
        if after[0].seq_index != before[0].seq_index + 1:
            refuse("The loop {1} must follow directly upon loop {0}", before[0], after[0])


def _check_parallel(state: ScheduleState, nests: Sequence[_Nest]) -> None:
    """Reject nests whose loops reduce: a later block would read what is reduced in part."""
    for nest in nests:
        variables = {sref.loop.loop_var for sref in nest}
        for block in state.child_blocks(nest[0]):
            realize = state.realize_of(block)
            for axis, value in zip(block.block.iter_vars, realize.iter_values, strict=True):
                if axis.iter_type != IterVar.DataPar and uses_var(value, variables.__contains__):
                    refuse(
                        f"The axis {axis.var.name!r} of block {{0}}, which is not data parallel, is bound to the loops",
                        block,
                    )


def _check_written_once(state: ScheduleState, nests: Sequence[_Nest]) -> None:
    """Reject nests that write one buffer: which of them writes an element last would be another one."""
    writers: dict[Buffer, StmtSRef] = {}
    for nest in nests:
        written = {r.buffer for block in state.child_blocks(nest[0]) for r in block.block.writes}
        for buffer in written:
            if buffer in writers:
                refuse(
                    f"The loops {{0}} and {{1}} both write buffer {buffer.name}, whose elements would be written in "
                    "another order",
                    writers[buffer],
                    nest[0],
                )
        writers.update(dict.fromkeys(written, nest[0]))


def _replace(state: ScheduleState, above: StmtSRef, nests: Sequence[_Nest]) -> StmtSRef:
    """Put one nest in place of several."""
    first = nests[0]
    variables = [Var(f"{sref.loop.loop_var.name}_m", sref.loop.loop_var.dtype) for sref in first]
    parts: list[Stmt] = []
    for nest in nests:
        values = {sref.loop.loop_var: var for sref, var in zip(nest, variables, strict=True)}
        parts += statements_of(substitute(nest[-1].loop.body, values))
    span = current_span()
    for sref in (sref for nest in nests for sref in nest):
        span = span | sref.loop.span
    with derived_from(span):
        stmt: Stmt = SeqStmt(tuple(parts))
        for sref, var in zip(reversed(first), reversed(variables), strict=True):
            stmt = loop_like("merge", sref.loop, var, (const(0, var.dtype), sref.loop.extent), stmt)
    around = above.stmt
    assert isinstance(around, (Block, For))
    assert isinstance(stmt, For)
    old = statements_of(around.body)
    start = first[0].seq_index
    rest = (*old[:start], stmt, *old[start + len(nests) :])
    with derived_from(around.body.span):
        body = SeqStmt(rest) if len(rest) > 1 else stmt
    new = changed(around, body=body)
    state.replace(above, new, matching_blocks(around, new))
    inner = stmt
    for _ in variables[1:]:
        assert isinstance(inner.body, For)
        inner = inner.body
    return state.sref_of(inner)
