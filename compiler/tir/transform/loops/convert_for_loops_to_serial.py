"""Converts parallel loops to serial ones."""

from __future__ import annotations

from compiler.ir.node import rebuild
from compiler.tir.analysis.features import features
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class ConvertForLoopsToSerial(FunctionRewrite):
    """Run parallel loops in one thread.

    For example::

        for i in T.parallel(8):     →     for i in range(8):
            B[i] = A[i]                       B[i] = A[i]
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if ForKind.PARALLEL not in features(func).kinds:
            return func
        return func.with_body(SerialLoops().visit(func.body))


class SerialLoops(StmtMutator):
    """Makes parallel loops serial ones."""

    def visit_For(self, n: For) -> Stmt:
        kind = ForKind.SERIAL if n.kind is ForKind.PARALLEL else n.kind
        return rebuild(n, kind=kind, body=self.visit(n.body))
