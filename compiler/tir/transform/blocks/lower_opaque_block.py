"""Lowers opaque blocks to allocations and statements."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var, const, convert, is_const_int
from compiler.ir.expr.substitute import free_vars
from compiler.ir.node import rebuild
from compiler.tir.statements.block import Block, BlockRealize, memory_extents
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, DeclBuffer, For, ForKind, IfThenElse, LetStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class LowerOpaqueBlock(FunctionRewrite):
    """Replace blocks without axes by branches, allocations and bodies.

    Loops of one iteration are replaced by their bodies, loops over threads by launches, and annotations that begin with
    ``pragma_`` by attributes around the block or loop::

    for i in T.thread_binding(4, "threadIdx.x"):        threadIdx_x = T.launch_thread("threadIdx.x", 4)
        with T.block("B"):                              if threadIdx_x < n:
            T.where(i < n)                          →       B = T.allocate([16], "float32", "global")
            B = T.alloc_buffer((16,))                       B_1 = T.decl_buffer((16,), data=B)
            …                                               …
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_LowerBlocks().visit(func.body))


class _LowerBlocks(StmtExprMutator):
    def __init__(self) -> None:
        self._values: dict[Var, PrimExpr] = {}
        self._in_shapes: set[Var] = set()  # variables that extents of memory are written with

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._values.get(n, n)

    def visit_BlockRealize(self, n: BlockRealize) -> Stmt:
        body = self.visit(n.block)
        if is_const_int(n.predicate, 1):
            return body
        return IfThenElse(self.visit(n.predicate), body)

    def visit_Block(self, n: Block) -> Stmt:
        body = self.visit(n.body)
        for buffer in reversed(n.alloc_buffers):
            self._in_shapes |= {*free_vars(buffer.shape), *free_vars(buffer.strides)}
            body = DeclBuffer(buffer, body)
            body = Allocate(buffer.data, buffer.dtype, memory_extents(buffer), const(True, "bool"), body)
        return _with_pragmas(const(0), n.annotations, body)

    def visit_For(self, n: For) -> Stmt:
        low, extent = self.visit(n.min), self.visit(n.extent)
        if n.kind is ForKind.THREAD_BINDING and n.thread_binding is not None:
            return self._thread(n, low, extent, n.thread_binding)
        if is_const_int(extent, 1) and not n.annotations:
            self._values[n.loop_var] = low
            return self._defined(n.loop_var, self.visit(n.body))
        rest = {key: value for key, value in n.annotations.items() if not _is_pragma(key, value)}
        annotations = n.annotations if len(rest) == len(n.annotations) else rest
        loop = rebuild(n, min=low, extent=extent, annotations=annotations, body=self.visit(n.body))
        return _with_pragmas(n.loop_var, n.annotations, loop)

    def _thread(self, n: For, low: PrimExpr, extent: PrimExpr, binding: IterVar) -> Stmt:
        tag = binding.thread_tag
        named = binding.var if binding.var.name else Var(tag.replace(".", "_"), n.loop_var.dtype)
        axis = IterVar(Range.from_fields(const(0, extent.dtype), extent), named, IterVar.ThreadIndex, tag)
        self._values[n.loop_var] = axis.var + low
        key = "virtual_thread" if tag.startswith("vthread") else "thread_extent"
        body = self._defined(n.loop_var, self.visit(n.body))
        return _with_pragmas(axis.var, n.annotations, AttrStmt(axis, key, extent, body))

    def _defined(self, var: Var, body: Stmt) -> Stmt:
        """Return a statement with a variable that it has only in extents of memory, which keep theirs."""
        return LetStmt(var, self._values[var], body) if var in self._in_shapes else body


def _is_pragma(key: str, value: object) -> bool:
    """Return whether an annotation is for the passes that follow, and a number, a truth value or a text."""
    return key.startswith("pragma_") and isinstance(value, (PrimExpr, str, bool, int, float))


def _with_pragmas(subject: PrimExpr, annotations: Mapping[str, object], body: Stmt) -> Stmt:
    """Return a statement within the pragmas among some annotations, by their names from the outside in."""
    for key, value in sorted(annotations.items(), reverse=True):
        if _is_pragma(key, value):
            body = AttrStmt(subject, key, convert(value), body)
    return body
