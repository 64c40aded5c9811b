"""Creates each thread context once."""

from __future__ import annotations

from compiler.ir.expr.primexpr import Call, PrimExpr, Var
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.tir.analysis.features import features
from compiler.tir.expressions.device_ops import THREAD_CONTEXT
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import COPROC_UOP_SCOPE, AttrStmt, For, ForKind, LetStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite

_OWN_CONTEXTS = ("thread_extent", COPROC_UOP_SCOPE)
"""Attributes whose bodies run in other threads."""


class CombineContextCall(FunctionRewrite):
    """Compute the context of a thread once where it is asked for several times.

    For example::

        for i in range(n):                                       ctx_cache = context(0)
            f(T.tvm_thread_context(context(0)), A)       →       for i in range(n):
            g(T.tvm_thread_context(context(0)), A)                   f(ctx_cache, A)
                                                                     g(ctx_cache, A)

    Parallel loops and thread axes have contexts of their own.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if THREAD_CONTEXT.name not in features(func).ops:
            return func
        return func.with_body(_Combine().combined(func.body))


class _Combine(StmtExprMutator):
    def __init__(self) -> None:
        self._values: list[tuple[PrimExpr, Var]] = []

    def combined(self, body: Stmt) -> Stmt:
        """Return a body that runs in one thread below the contexts that it asks for."""
        outer, self._values = self._values, []
        result = self.visit(body)
        for value, var in reversed(self._values):
            result = LetStmt(var, value, result)
        self._values = outer
        return result

    def visit_Call(self, n: Call) -> PrimExpr:
        if n.op is not THREAD_CONTEXT:
            return self.visit_Node(n)
        value = n.args[0]
        for other, var in self._values:
            if structural_equal(value, other):
                return var
        var = Var("ctx_cache", value.dtype)
        self._values.append((value, var))
        return var

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key in _OWN_CONTEXTS:
            return rebuild(n, body=self.combined(n.body))
        return self.visit_Node(n)

    def visit_For(self, n: For) -> Stmt:
        if n.kind is ForKind.PARALLEL:
            return rebuild(n, body=self.combined(n.body))
        return self.visit_Node(n)
