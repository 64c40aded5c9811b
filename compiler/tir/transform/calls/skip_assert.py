"""Removes assertions."""

from __future__ import annotations

from compiler.ir.transform import register_config_option
from compiler.tir.analysis.features import features
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AssertStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite

register_config_option("tir.disable_assert", (bool, int))


class SkipAssert(FunctionRewrite):
    """Leave all assertions out.

    The option ``tir.disable_assert`` adds this pass to the last phase::

        assert n < 64, "n is too large"    →   C[n] = 0.0
        C[n] = 0.0
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_RemoveAsserts().visit(func.body)) if AssertStmt in features(func).nodes else func


class _RemoveAsserts(StmtMutator):
    def visit_AssertStmt(self, n: AssertStmt) -> Stmt:
        return self.visit(n.body)
