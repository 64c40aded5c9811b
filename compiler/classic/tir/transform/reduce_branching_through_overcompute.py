"""Removes branches by computing more than is needed."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.arith.analyzer import Analyzer
from compiler.arith.facts import is_stable
from compiler.arith.integer_region import Region, certain_region
from compiler.ir.expr.primexpr import Not, PrimExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.ir.transform import PassContext
from compiler.tir.analysis.buffer_values import BufferValues
from compiler.tir.analysis.buffer_writes import Access, reads_of, writes_of
from compiler.tir.expressions.op import all as all_of
from compiler.tir.statements.buffer import BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import IfThenElse, Stmt, is_no_op
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.loops.dead_stores import DeadStores
from compiler.tir.transform.loops.known_stores import KnownStores
from compiler.tir.transform.loops.value_follower import StatementFollower, without_likely
from compiler.tir.transform.pass_base import PrimFuncPass
from compiler.tir.transform.remove_no_op import without_no_ops


class ReduceBranchingThroughOvercompute(PrimFuncPass, configurable=True):
    """Leave out conditions of statements that would do nothing, or no harm, where the condition does not hold.

    Two branches that do the same become one.  With data flow analysis a branch goes whose stores would be of values
    that are there already, or to elements that are stored again before they are read::

        for i in range(16):                               for i in range(16):
            T.assume(i < 14 or A[i] == 0)                     T.assume(i < 14 or A[i] == 0)
        for i in range(16):                         →     for i in range(16):
            if i < 14:                                        B[0] = B[0] + A[i]
                B[0] = B[0] + A[i]

    What would be accessed in addition has to be inside of its buffer.

    Parameters
    ----------
    use_dataflow_analysis : bool
        Whether what stores and ``T.assume`` say about elements is used.
    """

    use_dataflow_analysis: bool = False

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        body = _SameBranches().visit(func.body)
        if self.configured(ctx).use_dataflow_analysis:
            body = _NoOpConditionRemover(BufferValues(Analyzer())).visit(body)
            body = _OverwriteConditionRemover().visit(body)
        return func.with_body(body)


class _SameBranches(StmtExprMutator):
    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        return n

    def visit_IfThenElse(self, n: IfThenElse) -> Stmt:
        then = self.visit(n.then_case)
        other = None if n.else_case is None else self.visit(n.else_case)
        if is_no_op(then) if other is None else structural_equal(then, other):
            return then
        return rebuild(n, then_case=then, else_case=other)


class _NoOpConditionRemover(StatementFollower):
    """Drops conditions of stores of what is there already."""

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        self.values.forget(n.value)
        self.values.store(n)
        return n

    def visit_IfThenElse(self, n: IfThenElse) -> Stmt:
        opposite = Not(without_likely(n.condition))
        if n.else_case is None:
            droppable = self._does_nothing(n.then_case, opposite)
        else:
            droppable = self._does_the_same(n.then_case, n.else_case, opposite)
        if droppable:
            return self.visit(n.then_case)
        return super().visit_IfThenElse(n)

    def _does_nothing(self, stmt: Stmt, opposite: PrimExpr) -> bool:
        before = self.values.facts()
        with self.values.analyzer.constraint(opposite), self.values.alternative(opposite, before):
            rest = KnownStores(self.values).visit(stmt)
            inside = stays_inside(stmt, self.values.context)
        self.values.go_back_to(before)
        return inside and is_no_op(without_no_ops(rest))

    def _does_the_same(self, stmt: Stmt, other: Stmt, opposite: PrimExpr) -> bool:
        if not isinstance(stmt, BufferStore) or not isinstance(other, BufferStore) or stmt.buffer is not other.buffer:
            return False
        before, analyzer = self.values.facts(), self.values.analyzer
        with analyzer.constraint(opposite), self.values.alternative(opposite, before):
            inside = stays_inside(stmt, self.values.context)
            a, b = (self.values.resolve(store.value) for store in (stmt, other))
            same = all(map(analyzer.can_prove_equal, (a, *stmt.indices), (b, *other.indices)))
        self.values.go_back_to(before)
        return inside and same


class _OverwriteConditionRemover(DeadStores):
    """Drops conditions of stores to what is stored again before it is read; the stores themselves stay."""

    def __init__(self) -> None:
        super().__init__(removes=False)

    def visit_IfThenElse(self, n: IfThenElse) -> Stmt:
        opposite = Not(without_likely(n.condition))
        if self.removes or n.else_case is not None:
            return super().visit_IfThenElse(n)
        after = dict(self.dead)
        self.removes = True
        with self.where(opposite):
            rest = self.visit(n.then_case)
            inside = stays_inside(n.then_case, self.context)
        self.removes, self.dead = False, after
        if inside and is_no_op(without_no_ops(rest)):
            return self.visit(n.then_case)
        return super().visit_IfThenElse(n)


def stays_inside(stmt: Stmt, context: Region) -> bool:
    """Return whether all accesses of a statement are certain to be inside of their buffers."""
    return all(_is_inside(access, context) for access in _accesses(stmt))


def _accesses(stmt: Stmt) -> Iterator[Access]:
    yield from writes_of(stmt)
    yield from reads_of(stmt)


def _is_inside(access: Access, context: Region) -> bool:
    buffer = access.buffer
    if buffer is None or not all(map(is_stable, access.indices)):
        return False
    inside = [all_of(i >= 0, i < dim) for i, dim in zip(access.indices, buffer.shape, strict=True)]
    where = access.region & context
    return all(certain_region(condition).covers(where) for condition in inside)
