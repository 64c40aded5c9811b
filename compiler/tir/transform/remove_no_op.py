"""Removing statements that do nothing."""

from __future__ import annotations

from compiler.ir.functor import Mutator
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.primexpr import IntImm
from compiler.ir.structural import structural_equal
from compiler.ir.substitute import uses_var
from compiler.ir.transform import PassContext
from compiler.tir.analysis.side_effect import has_effect
from compiler.tir.buffer import BufferLoad
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    is_no_op,
    no_op,
    seq,
)
from compiler.tir.transform.pass_base import PrimFuncPass


class RemoveNoOp(PrimFuncPass):
    """Remove statements that do nothing: empty loops and branches, unused lets, ``a[i] = a[i]``.

    Earlier passes leave such remains, e.g. the branch of a guard that was proved never to be taken.  The walk goes
    from the inside out, so that a loop whose body turns out to do nothing disappears with it::

        for i in range(10):        →   (nothing)
            for j in range(0):
                A[i] = B[j]

    An expression that may have an effect, such as a call of a C function, is kept.
    """

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        return func.with_body(without_no_ops(func.body))


def without_no_ops(stmt: Stmt) -> Stmt:
    """Return ``stmt`` without the parts of it that do nothing."""
    return _RemoveNoOp().visit(stmt)  # type: ignore[no-any-return]


def without_empty_parts(stmt: Stmt) -> Stmt:
    """Return ``stmt`` without loops, branches and the like around nothing; what evaluates a value stays."""
    return _RemoveEmpty().visit(stmt)  # type: ignore[no-any-return]


class _RemoveNoOp(Mutator):
    def visit_LetStmt(self, n: LetStmt) -> Stmt:
        body = self.visit(n.body)
        if is_no_op(body) or not uses_var(body, n.var):
            return body if not has_effect(n.value) else seq([Evaluate(n.value), body])
        return rebuild(n, body=body)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        body = self.visit(n.body)
        if is_no_op(body):
            return _keep_effects(n.value)
        return rebuild(n, body=body)

    def visit_IfThenElse(self, n: IfThenElse) -> Stmt:
        if isinstance(n.condition, IntImm):
            taken = n.then_case if n.condition.value else n.else_case
            return no_op() if taken is None else self.visit(taken)
        then = self.visit(n.then_case)
        other = None if n.else_case is None else self.visit(n.else_case)
        if other is not None and is_no_op(other):
            other = None
        if is_no_op(then) and other is None:
            return _keep_effects(n.condition)
        return rebuild(n, then_case=then, else_case=other)

    def visit_For(self, n: For) -> Stmt:
        if isinstance(n.extent, IntImm) and n.extent.value <= 0:
            return no_op()
        body = self.visit(n.body)
        if is_no_op(body):
            return seq([_keep_effects(n.min), _keep_effects(n.extent)])
        return rebuild(n, body=body)

    def visit_Allocate(self, n: Allocate) -> Stmt:
        body = self.visit(n.body)
        if is_no_op(body):
            return seq([_keep_effects(e) for e in n.extents])
        return rebuild(n, body=body)

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        body = self.visit(n.body)
        return body if body is n.body or is_no_op(body) else rebuild(n, body=body)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        value = n.value
        if isinstance(value, BufferLoad) and value.buffer is n.buffer and structural_equal(value.indices, n.indices):
            return seq([_keep_effects(i) for i in n.indices])
        return n

    def visit_Evaluate(self, n: Evaluate) -> Stmt:
        return n if isinstance(n.value, IntImm) or has_effect(n.value) else no_op()

    def visit_SeqStmt(self, n: SeqStmt) -> Stmt:
        new = [self.visit(stmt) for stmt in n.seq]
        if all(a is b for a, b in zip(new, n.seq, strict=True)) and not any(is_no_op(s) for s in new):
            return n
        return seq(new)


class _RemoveEmpty(_RemoveNoOp):
    def visit_Evaluate(self, n: Evaluate) -> Stmt:
        return n

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        return n


def _keep_effects(e: object) -> Stmt:
    return Evaluate(e) if has_effect(e) else no_op()  # type: ignore[arg-type]
