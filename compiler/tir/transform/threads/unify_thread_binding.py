"""Unifies the variables of each thread axis of a kernel."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var, cast, const, is_const_int
from compiler.ir.node import rebuild
from compiler.tir.analysis.features import features
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import THREAD_KEYS, AttrStmt, For, ForKind, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class UnifyThreadBinding(FunctionRewrite):
    """Let all loops of a kernel that are bound to one thread axis be one loop, outside of everything else.

    For example::

        for i in T.thread_binding(8, "blockIdx.x"):         for bx in T.thread_binding(8, "blockIdx.x"):
            for j in T.thread_binding(4, "threadIdx.x"):        for tx in T.thread_binding(4, "threadIdx.x"):
                B[i, j] = A[i, j]                     →             B[bx, tx] = A[bx, tx]
            for k in T.thread_binding(4, "threadIdx.x"):            C[bx, tx] = B[bx, tx]
                C[i, k] = B[i, k]

    Launches of thread axes become such loops as well.  What an inner loop is annotated with stays at its body, on a
    loop of one iteration.  Functions that were lowered from a schedule of tensor expressions have one variable for each
    axis already. Raises ArgumentError if two loops of a kernel bind one axis with different extents.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if func.is_from_schedule:
            return func
        occurring = features(func)
        if ForKind.THREAD_BINDING not in occurring.kinds and not occurring.attrs.intersection(THREAD_KEYS):
            return func
        return func.with_body(_Unify().visit(func.body))


class _Unify(StmtExprMutator):
    def __init__(self) -> None:
        self._kernel: dict[str, For] = {}
        self._inside = False
        self._values: dict[Var, PrimExpr] = {}
        self._analyzer = Analyzer()

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._values.get(n, n)

    def visit_For(self, n: For) -> Stmt:
        if n.kind is not ForKind.THREAD_BINDING or n.thread_binding is None:
            return self.visit_Node(n)
        return self._launch(n, n.thread_binding.thread_tag, n.loop_var, self.visit(n.min), self.visit(n.extent))

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key not in THREAD_KEYS or not isinstance(n.node, IterVar):
            return self.visit_Node(n)
        return self._launch(n, n.node.thread_tag, n.node.var, const(0, n.node.dtype), self.visit(n.value))

    def _launch(self, n: For | AttrStmt, tag: str, var: Var, low: PrimExpr, extent: PrimExpr) -> Stmt:
        outermost, self._inside = not self._inside, True
        annotations = dict(n.annotations) if isinstance(n, For) else {}
        axis = cast(var.dtype, self._axis(tag, var, extent, annotations if outermost else {}, n))
        self._values[var] = axis if is_const_int(low, 0) else axis + low
        body = self.visit(n.body)
        if annotations and not outermost:  # they say something of this body, not of all that the axis runs
            once = const(1, var.dtype)
            body = For(Var("var", var.dtype), const(0, var.dtype), once, ForKind.SERIAL, body, None, annotations)
        if outermost:
            for loop in reversed(self._kernel.values()):
                body = rebuild(loop, body=body)
            self._kernel, self._inside = {}, False
        return body

    def _axis(self, tag: str, var: Var, extent: PrimExpr, annotations: dict[str, object], n: For | AttrStmt) -> Var:
        """Return the variable of an axis in this kernel."""
        loop = self._kernel.get(tag)
        if loop is None:
            binding = IterVar(None, Var("", var.dtype), IterVar.ThreadIndex, tag)
            name, low = tag.replace(".", "_"), const(0, var.dtype)
            loop = For(Var(name, var.dtype), low, extent, ForKind.THREAD_BINDING, n.body, binding, annotations)
        elif not self._analyzer.can_prove_equal(loop.extent, cast(loop.extent.dtype, extent)):
            raise ArgumentError(
                f"UnifyThreadBinding: all loops that are bound to {tag!r} must have the same extent, got"
                f" {show(loop.extent)} and {show(extent)}"
            )
        self._kernel[tag] = loop
        return loop.loop_var
