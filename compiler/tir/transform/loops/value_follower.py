"""A traversal that tracks the values stored in buffer elements."""

from __future__ import annotations

from compiler.ir.expr.primexpr import EQ, Call, IntImm, Not, PrimExpr, is_const_int
from compiler.ir.functor import leave
from compiler.ir.node import rebuild
from compiler.tir.analysis.buffer_values import BufferValues
from compiler.tir.expressions.builtin import ASSUME, LIKELY, is_call
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.stmt import THREAD_KEYS, Stmt, no_op
from compiler.tir.statements.stmt_functor import StmtExprMutator


class StatementWalk(StmtExprMutator):
    """Rebuilds statements; has a rule for each one that a subclass, or a class mixed into it, extends."""

    def visit_For(self, n: tir.For) -> Stmt:
        return self.visit_Node(n)

    def visit_LetStmt(self, n: tir.LetStmt) -> Stmt:
        return self.visit_Node(n)

    def visit_AttrStmt(self, n: tir.AttrStmt) -> Stmt:
        return self.visit_Node(n)

    def visit_AssertStmt(self, n: tir.AssertStmt) -> Stmt:
        return self.visit_Node(n)

    def visit_Evaluate(self, n: tir.Evaluate) -> Stmt:
        return self.visit_Node(n)


class ValueFollower(StatementWalk):
    """Keeps ``values`` at the point of the walk; mixed into a mutator, which stores what its stores become."""

    values: BufferValues

    def _decided(self, condition: PrimExpr) -> PrimExpr:
        """Return what a condition becomes: a constant where it is decided."""
        return condition

    def visit_IfThenElse(self, n: tir.IfThenElse) -> Stmt:
        condition = self._decided(n.condition)
        if isinstance(condition, IntImm):
            taken = n.then_case if condition.value else n.else_case
            return no_op() if taken is None else self.visit(taken)
        values, analyzer, before = self.values, self.values.analyzer, self.values.facts()
        plain = without_likely(condition)
        opposite = analyzer.simplify(Not(plain))
        with analyzer.constraint(plain), values.alternative(plain, before) as after_then:
            then = self.visit(n.then_case)
        with analyzer.constraint(opposite), values.alternative(opposite, before) as after_else:
            other = None if n.else_case is None else self.visit(n.else_case)
        values.join(plain, before, after_then, after_else)
        return rebuild(n, condition=condition, then_case=then, else_case=other)

    def visit_For(self, n: tir.For) -> Stmt:
        with self.values.loop(n):
            return super().visit_For(n)

    def visit_While(self, n: tir.While) -> Stmt:
        self.values.forget(n)
        with self.values.scope():
            result = self.visit_Node(n)
        self.values.forget(n)
        return result

    def visit_LetStmt(self, n: tir.LetStmt) -> Stmt:
        with self.values.scope(EQ(n.var, n.value) if n.var.dtype != "handle" else None, n.var):
            return super().visit_LetStmt(n)

    def visit_AttrStmt(self, n: tir.AttrStmt) -> Stmt:
        if n.attr_key not in THREAD_KEYS:
            return super().visit_AttrStmt(n)
        with self.values.concurrently():
            return super().visit_AttrStmt(n)

    def visit_BlockRealize(self, n: tir.BlockRealize) -> Stmt:
        plain = n.block.init is None and is_const_int(n.predicate, 1)
        with self.values.block(n) if plain else self.values.concurrently():
            return self.visit_Node(n)

    def visit_AssertStmt(self, n: tir.AssertStmt) -> Stmt:
        with self.values.scope(n.condition):
            return super().visit_AssertStmt(n)

    def visit_Evaluate(self, n: tir.Evaluate) -> Stmt:
        if not is_call(n.value, ASSUME):
            self.values.forget(n.value)
            return super().visit_Evaluate(n)
        call = self.visit(n.value)
        assert isinstance(call, Call)
        self.values.assume(call.args[0])
        return n if call is n.value else tir.Evaluate(call)


class StatementFollower(ValueFollower):
    """Follows values through statements; expressions stay as they are."""

    def __init__(self, values: BufferValues) -> None:
        self.values = values  # what is known where the walk begins

    visit_PrimExpr = leave


def without_likely(condition: PrimExpr) -> PrimExpr:
    """Return a condition without the mark that it nearly always holds."""
    while is_call(condition, LIKELY):
        condition = condition.args[0]
    return condition
