"""Removes statements without effect."""

from __future__ import annotations

from collections.abc import Callable, Set

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import IntImm, Not, PrimExpr, Range, Var
from compiler.ir.expr.substitute import free_vars
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.tir.analysis.side_effect import has_effect, is_pure
from compiler.tir.expressions.builtin import ASSUME, is_call
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Stmt, is_no_op, no_op, seq
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.loops.dead_stores import without_dead_stores
from compiler.tir.transform.loops.known_stores import without_known_stores
from compiler.tir.transform.pass_base import PrimFuncPass


class RemoveNoOp(PrimFuncPass, configurable=True):
    """Remove statements that do nothing: empty loops and branches, unused lets, ``a[i] = a[i]``.

    Earlier passes leave such remains, e.g. the branch of a guard that was proved never to be taken.  The walk goes
    from the inside out, so that a loop whose body turns out to do nothing disappears with it::

        for i in range(10):        →   (nothing)
            for j in range(0):
                A[i] = B[j]

    An expression that may have an effect, such as a call of a C function, is kept.

    ``PassContext(config={"tir.RemoveNoOp": {"use_dataflow_analysis": True}})`` sets the options for a whole build.

    Parameters
    ----------
    use_dataflow_analysis : bool
        Whether stores go whose elements are stored again before they are read, or never read, and stores of what an
        element is known to hold already.
    max_simplification_steps : int
        Accepted for compatibility with TVM: the analysis ends by itself.
    """

    use_dataflow_analysis: bool = False
    max_simplification_steps: int = 0

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        body = func.body
        if not self.configured(ctx).use_dataflow_analysis:
            return func.with_body(without_no_ops(body))
        body = _until_stable(lambda stmt: without_dead_stores(without_known_stores(stmt)), body)
        return func.with_body(_RemoveButAssumptions().visit(body))


MAX_ROUNDS = 4
"""How often dead stores are looked for: those that read what another one stored make it dead when they go."""


def _until_stable(transform: Callable[[Stmt], Stmt], stmt: Stmt) -> Stmt:
    for _ in range(MAX_ROUNDS):
        after = transform(stmt)
        if after is stmt:
            break
        stmt = after
    return stmt


def without_no_ops(stmt: Stmt) -> Stmt:
    """Return ``stmt`` without the parts of it that do nothing."""
    return _RemoveNoOp().visit(stmt)


def without_empty_parts(stmt: Stmt) -> Stmt:
    """Return ``stmt`` without loops, branches and the like around nothing; what evaluates a value stays."""
    return _RemoveEmpty().visit(stmt)


class _RemoveNoOp(StmtExprMutator):
    def __init__(self) -> None:
        self._analyzer = Analyzer()
        self._used: dict[Stmt, Set[Var]] = {}

    def visit_LetStmt(self, n: tir.LetStmt) -> Stmt:
        if dt.is_int(n.var.dtype) and is_pure(n.value):
            self._analyzer.bind(n.var, n.value, override=True)
        body = self.visit(n.body)
        if is_no_op(body) or n.var not in self._uses(body):
            return body if not has_effect(n.value) else seq([tir.Evaluate(n.value), body])
        return rebuild(n, body=body)

    def _uses(self, n: Stmt) -> Set[Var]:
        """Return the variables that a statement uses; what follows a let is not gone through again."""
        used = self._used.get(n)
        if used is None:
            parts = n.seq if isinstance(n, tir.SeqStmt) else ()
            if isinstance(n, tir.LetStmt):
                used = self._uses(n.body) - {n.var} | {*free_vars(n.value)}
            else:
                used = set().union(*map(self._uses, parts)) if parts else {*free_vars(n)}
            self._used[n] = used
        return used

    def visit_AttrStmt(self, n: tir.AttrStmt) -> Stmt:
        body = self.visit(n.body)
        if is_no_op(body):
            return _keep_effects(n.value)
        return rebuild(n, body=body)

    def visit_IfThenElse(self, n: tir.IfThenElse) -> Stmt:
        if isinstance(n.condition, IntImm):
            taken = n.then_case if n.condition.value else n.else_case
            return no_op() if taken is None else self.visit(taken)
        with self._analyzer.constraint(n.condition):
            then = self.visit(n.then_case)
        other = None if n.else_case is None else self._else_case(n.condition, n.else_case)
        if other is not None and is_no_op(other):
            other = None
        if is_no_op(then):
            return _keep_effects(n.condition) if other is None else tir.IfThenElse(Not(n.condition), other)
        return rebuild(n, then_case=then, else_case=other)

    def _else_case(self, condition: PrimExpr, stmt: Stmt) -> Stmt:
        with self._analyzer.constraint(Not(condition)):
            return self.visit(stmt)

    def visit_For(self, n: tir.For) -> Stmt:
        if self._analyzer.can_prove(n.extent <= 0):
            return no_op()
        self._analyzer.bind(n.loop_var, Range.from_min_extent(n.min, n.extent), override=True)
        body = self.visit(n.body)
        if is_no_op(body):
            return seq([_keep_effects(n.min), _keep_effects(n.extent)])
        return rebuild(n, body=body)

    def visit_Allocate(self, n: tir.Allocate) -> Stmt:
        body = self.visit(n.body)
        if is_no_op(body):
            return seq([_keep_effects(e) for e in n.extents])
        return rebuild(n, body=body)

    def visit_DeclBuffer(self, n: tir.DeclBuffer) -> Stmt:
        body = self.visit(n.body)
        return body if is_no_op(body) else rebuild(n, body=body)

    def visit_BufferStore(self, n: tir.BufferStore) -> Stmt:
        value = n.value
        if isinstance(value, BufferLoad) and value.buffer is n.buffer and self._equal(value.indices, n.indices):
            return seq([_keep_effects(i) for i in n.indices])
        return n

    def _equal(self, a: tuple[PrimExpr, ...], b: tuple[PrimExpr, ...]) -> bool:
        analyzer = self._analyzer
        return all(analyzer.can_prove_equal(x, y) or analyzer.can_prove(x.equal(y)) for x, y in zip(a, b, strict=True))

    def visit_Evaluate(self, n: tir.Evaluate) -> Stmt:
        return n if isinstance(n.value, IntImm) or has_effect(n.value) else no_op()

    def visit_SeqStmt(self, n: tir.SeqStmt) -> Stmt:
        new = [self.visit(stmt) for stmt in n.seq]
        if all(a is b for a, b in zip(new, n.seq, strict=True)) and not any(is_no_op(s) for s in new):
            return n
        return seq(new)


class _RemoveButAssumptions(_RemoveNoOp):
    """Keeps what data flow analysis learns from."""

    def visit_Evaluate(self, n: tir.Evaluate) -> Stmt:
        return n if is_call(n.value, ASSUME) else super().visit_Evaluate(n)


class _RemoveEmpty(_RemoveNoOp):
    def visit_Evaluate(self, n: tir.Evaluate | tir.BufferStore) -> Stmt:
        return n

    visit_BufferStore = visit_Evaluate


def _keep_effects(e: PrimExpr) -> Stmt:
    return tir.Evaluate(e) if has_effect(e) else no_op()
