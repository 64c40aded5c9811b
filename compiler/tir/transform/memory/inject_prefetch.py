"""Inserts prefetches of the region that a later iteration reads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from compiler.arith import Analyzer
from compiler.arith.int_set import IntervalSet, to_set, union
from compiler.arith.interval_arithmetic import eval_set
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import substitute, uses_var
from compiler.ir.functor import Visitor
from compiler.ir.node import rebuild
from compiler.tir.analysis.features import features
from compiler.tir.analysis.side_effect import reads_memory
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize, Prefetch
from compiler.tir.statements.stmt import THREAD_KEYS, AttrStmt, For, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite

PREFETCH, PREFETCH_SHARE = "prefetch_scope", "prefetch_share"


class InjectPrefetch(FunctionRewrite):
    """Insert hints to fetch what a later iteration of a loop reads.

    A loop marked by ``s[C].prefetch(A, axis, offset)`` names, at its beginning, the box of ``A`` that it will read
    ``offset`` iterations later; ``StorageFlatten`` turns the box into one hint for each cache line::

        for i in range(64):                T.prefetch(A, [i + 2, 0:64])
            # prefetch A, 2 ahead     →    for j in range(64):
            for j in range(64):                C[i, j] = A[i, j] * 2.0
                C[i, j] = A[i, j] * 2.0

    One with ``shared=True`` is inside of loops that read the same again.  What the loop around these reads ``offset``
    iterations later is fetched while they run, a share in each of their iterations::

        for j in range(9):                 for j in range(9):
            for i in range(16):                for i in range(16):
                for k in range(64):        →       for k in range(64):
                    # share of A, 1 ahead              T.prefetch(A, [j + 1, i * 4 + k // 16])
                    C[i, j] += A[j, k]                 C[i, j] += A[j, k]

    Where they read a copy instead, made anew in each iteration of the loop around, it is the next copy's original.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if features(func).attrs.isdisjoint((PREFETCH, PREFETCH_SHARE)):
            return func
        return func.with_body(_Inject().visit(func.body))


class _Inject(StmtMutator):
    def __init__(self) -> None:
        self._loops: list[For] = []

    def visit_For(self, n: For) -> Stmt:
        self._loops.append(n)
        body = self.visit(n.body)
        self._loops.pop()
        return rebuild(n, body=body)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        body = self.visit(n.body)
        if n.attr_key not in (PREFETCH, PREFETCH_SHARE):
            return rebuild(n, body=body)
        reads = _Reads(n.node)
        reads.visit(n.body)
        is_shared = n.attr_key == PREFETCH_SHARE
        if is_shared and not reads.boxes:
            box = self._share_of_copied(n.node, n.value)
        else:
            later = self._later(reads, is_shared, n.value)
            box = [substitute(each, later) for each in reads.hull() or ()] if later else []
        return seq([Prefetch(n.node, tuple(box)), body]) if box else body

    def _share_of_copied(self, buffer: Buffer, ahead: PrimExpr) -> list[Range]:
        """Return rows, or parts of one, of what is copied for the loops around this place in a later iteration.

        The rows are dealt out to the iterations of the outer loops, their columns to those of the innermost one.
        """
        reads, inside = _Reads(buffer), list[For]()
        for around in reversed(self._loops):
            reads.visit(around.body)
            if reads.boxes:
                break
            inside.append(around)
        hull = reads.hull()
        if not inside or hull is None or not reads.depend_on(around.loop_var):
            return []
        (turn, turns), (step, steps) = _numbered(inside[1:]), _numbered(inside[:1])
        extents = [each.extent.value if isinstance(each.extent, IntImm) else 0 for each in hull]
        if len(extents) < 2 or not all((turns, steps, *extents)) or max((1, *extents[:-2])) > 1:
            return []
        rows = -(-extents[-2] // turns)
        columns = -(-extents[-1] * rows // steps)
        *others, row, column = [substitute(each.min, {around.loop_var: around.loop_var + ahead}) for each in hull]
        places = [*others, row + turn * rows + step % rows]
        across = Range.from_min_extent(column + step // rows * columns, const(columns, column.dtype))
        return [*(Range.from_min_extent(place, const(1, place.dtype)) for place in places), across]

    def _later(self, reads: _Reads, shared: bool, ahead: PrimExpr) -> dict[Var, PrimExpr]:
        """Return the variables of loops where what is fetched will be read, empty if there is nothing to fetch."""
        loops = self._loops[::-1]
        if not shared:
            return {loop.loop_var: loop.loop_var + ahead for loop in loops[:1]}
        inside = list(takewhile(lambda loop: reads.depend_on(loop.loop_var), loops))
        again = list(takewhile(lambda loop: not reads.depend_on(loop.loop_var), loops[len(inside) :]))
        around = loops[len(inside) + len(again) :]
        (step, steps), (turn, turns) = _numbered(inside), _numbered(again)
        if not (inside and again and around and steps and turns):
            return {}
        # A shift is one instruction where a division takes several: some of the last turn is fetched twice.
        step = turn * -(-steps // turns) + step // (1 << (turns.bit_length() - 1))
        later = {around[0].loop_var: around[0].loop_var + ahead}
        for loop in inside[:-1]:
            later[loop.loop_var], step = loop.min + step % loop.extent, step // loop.extent
        return later | {inside[-1].loop_var: inside[-1].min + step}


def _numbered(loops: Sequence[For]) -> tuple[PrimExpr, int]:
    """Return the number of an iteration of loops, innermost first, and how many there are; 0 if that is unknown."""
    number: PrimExpr = const(0, "int32")
    count = 1
    for loop in loops:
        number += (loop.loop_var - loop.min) * count
        count *= loop.extent.value if isinstance(loop.extent, IntImm) else 0
    return number, count


class _Reads(Visitor):
    """Collects the boxes of a buffer that the loops of a body read."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._domains: dict[Var, IntervalSet] = {}
        self.boxes: list[tuple[IntervalSet, ...]] = []

    def depend_on(self, var: Var) -> bool:
        """Return whether what is read is something else in each iteration of a loop."""
        ends = (end for box in self.boxes for axis in box for end in (axis.min_value, axis.max_value))
        return any(uses_var(end, var) for end in ends)

    def hull(self) -> list[Range] | None:
        """Return the smallest box around all; None if there is none, or its place is read from memory."""
        hulls = [union(axis) for axis in zip(*self.boxes, strict=True)]
        ends = [(hull.min_value, hull.max_value) for hull in hulls]
        if not all(hull.is_bounded() for hull in hulls) or any(reads_memory(end) for each in ends for end in each):
            return None
        return [Range.from_min_extent(low, Analyzer().simplify(high - low + 1)) for low, high in ends] or None

    def visit_For(self, n: For) -> None:
        self._domains[n.loop_var] = to_set(Range.from_min_extent(n.min, n.extent))
        self.visit_Node(n)
        del self._domains[n.loop_var]

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key in THREAD_KEYS and isinstance(n.node, IterVar):
            self._domains[n.node.var] = to_set(Range.from_min_extent(const(0, n.value.dtype), n.value))
        self.visit_Node(n)

    def visit_BufferRealize(self, n: BufferRealize) -> None:
        if n.buffer is not self._buffer:  # what is computed inside has no place before
            self.visit_Node(n)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        if n.buffer is self._buffer:
            self.boxes.append(tuple([eval_set(i, self._domains) for i in n.indices]))
        self.visit_Node(n)
