"""Inserts prefetches of the region that a later iteration reads."""

from __future__ import annotations

from compiler.arith.int_set import IntervalSet, to_set, union
from compiler.arith.interval_arithmetic import eval_set
from compiler.ir.expr.primexpr import Range, Var
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import Visitor
from compiler.ir.node import rebuild
from compiler.tir.analysis.features import features
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import Prefetch
from compiler.tir.statements.stmt import AttrStmt, For, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class InjectPrefetch(FunctionRewrite):
    """Insert hints to fetch what a later iteration of a loop reads.

    A loop marked by ``s[C].prefetch(A, axis, offset)`` names, at its beginning, the box of ``A`` that it will read
    ``offset`` iterations later; ``StorageFlatten`` turns the box into one hint for each cache line::

        for i in range(64):                T.prefetch(A, [i + 2, 0:64])
            # prefetch A, 2 ahead     →    for j in range(64):
            for j in range(64):                C[i, j] = A[i, j] * 2.0
                C[i, j] = A[i, j] * 2.0
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if "prefetch_scope" not in features(func).attrs:
            return func
        return func.with_body(_Inject().visit(func.body))


class _Inject(StmtMutator):
    def __init__(self) -> None:
        self._loops: list[Var] = []

    def visit_For(self, n: For) -> Stmt:
        self._loops.append(n.loop_var)
        body = self.visit(n.body)
        self._loops.pop()
        return rebuild(n, body=body)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        body = self.visit(n.body)
        if n.attr_key != "prefetch_scope":
            return rebuild(n, body=body)
        reads = _Reads(n.node)
        reads.visit(n.body)
        if not reads.boxes or not self._loops:
            return body
        var = self._loops[-1]
        bounds = []
        for axis in zip(*reads.boxes, strict=True):
            hull = union(axis)
            if not hull.is_bounded():
                return body
            box = Range.from_min_extent(hull.min_value, hull.max_value - hull.min_value + 1)
            bounds.append(substitute(box, {var: var + n.value}))
        return seq([Prefetch(n.node, tuple(bounds)), body])


class _Reads(Visitor):
    """Collects the boxes of a buffer that the loops of a body read."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._domains: dict[Var, IntervalSet] = {}
        self.boxes: list[tuple[IntervalSet, ...]] = []

    def visit_For(self, n: For) -> None:
        self._domains[n.loop_var] = to_set(Range.from_min_extent(n.min, n.extent))
        self.visit_Node(n)
        del self._domains[n.loop_var]

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        if n.buffer is self._buffer:
            self.boxes.append(tuple([eval_set(i, self._domains) for i in n.indices]))
        self.visit_Node(n)
