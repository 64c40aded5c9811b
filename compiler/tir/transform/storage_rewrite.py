"""Rewriting storage: where memory is allocated, who shares it, and what it is an array of."""

from __future__ import annotations

from compiler.ir.functor import Mutator
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.primexpr import IntImm, PrimExpr
from compiler.ir.transform import PassContext, PassInfo
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import Allocate, AttrStmt, For, ForKind, Stmt
from compiler.tir.transform.pass_base import PrimFuncPass
from compiler.tir.transform.scan import features


def StorageRewrite() -> PrimFuncPass:
    """Allocate memory once, outside of the loops, and let buffers that are not alive together share it.

    An allocation moves out of serial loops, up to the function or to the parallel loop or thread that it belongs to,
    so that memory is taken once and not in each iteration::

        for n in range(32):                                   C_global = T.allocate([1024], "float32", "global")
            C_global = T.allocate([1024], …)         →        for n in range(32):
            …                                                     …

    The option ``tir.disable_storage_rewrite`` leaves everything as it is.
    """

    def transform(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if ctx.config.get("tir.disable_storage_rewrite") or Allocate not in features(func).nodes:
            return func
        hoist = _Hoist()
        return func.with_body(hoist.scope(func.body))

    return PrimFuncPass(transform, PassInfo(0, "tir.StorageRewrite"))


class _Hoist(Mutator):
    def __init__(self) -> None:
        self._found: list[Allocate] = []

    def scope(self, body: Stmt) -> Stmt:
        outer, self._found = self._found, []
        body = self.visit(body)
        for alloc in reversed(self._found):
            body = rebuild(alloc, {"body": body})
        self._found = outer
        return body

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        return n

    def visit_For(self, n: For) -> Stmt:
        parallel = n.kind in (ForKind.PARALLEL, ForKind.THREAD_BINDING)
        body = self.scope(n.body) if parallel else self.visit(n.body)
        return n if body is n.body else rebuild(n, {"body": body})

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        threads = n.attr_key in ("thread_extent", "virtual_thread")
        body = self.scope(n.body) if threads else self.visit(n.body)
        return n if body is n.body else rebuild(n, {"body": body})

    def visit_Allocate(self, n: Allocate) -> Stmt:
        if not all(isinstance(e, IntImm) for e in (*n.extents, n.condition)):
            body = self.visit(n.body)
            return n if body is n.body else rebuild(n, {"body": body})
        self._found.append(n)
        return self.visit(n.body)  # type: ignore[no-any-return]
