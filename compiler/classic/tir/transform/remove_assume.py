"""Removes assumptions once they have served other passes."""

from __future__ import annotations

from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import ASSUME, is_call
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Evaluate, Stmt, no_op
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite
from compiler.tir.transform.remove_no_op import without_no_ops


class RemoveAssume(FunctionRewrite):
    """Remove the statements that say which conditions hold.

    For example::

        T.assume(n > 0)     →     A[0] = 1.0
        A[0] = 1.0
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if ASSUME.name not in features(func).ops:
            return func
        return func.with_body(without_no_ops(_Remove().visit(func.body)))


class _Remove(StmtMutator):
    def visit_Evaluate(self, n: Evaluate) -> Stmt:
        return no_op() if is_call(n.value, ASSUME) else n
