"""Launches device code that is bound to no threads on a single thread."""

from __future__ import annotations

from compiler.ir.expr.primexpr import Call, IterVar, Range, StringImm, Var, const
from compiler.ir.functor import nodes_of
from compiler.ir.node import Node
from compiler.tir.analysis.thread_axes import launch_of
from compiler.tir.expressions.builtin import CALL_EXTERN, CALL_PACKED
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, BufferStore, DeclBuffer, For, LetStmt, SeqStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator, statements_of
from compiler.tir.transform.pass_base import FunctionRewrite

_AXES = ("blockIdx.x", "threadIdx.x")


class LaunchSingleThread(FunctionRewrite):
    """Let a block of one thread do what touches memory outside of all thread axes.

    Statements that are written by hand, as those of ``te.extern``, have no loops that a schedule could bind.  For
    example::

        for i in range(7):                         bx = T.launch_thread("blockIdx.x", 1)
            B[i + 1] = B[i] + A[i]        →        tx = T.launch_thread("threadIdx.x", 1)
                                                   for i in range(7):
                                                       B[i + 1] = B[i] + A[i]

    What launches threads already, and what calls functions of the host, stays.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_Launch().visit(func.body))


class _Launch(StmtMutator):
    """Descends to the largest statements without launches; memory that is allocated around them stays the device's."""

    def visit_Stmt(self, n: Stmt) -> Stmt:
        if isinstance(n, (AttrStmt, For)) and launch_of(n):
            return n
        has_launches = any(map(launch_of, statements_of(n, AttrStmt, For)))
        if has_launches or isinstance(n, (SeqStmt, Allocate, DeclBuffer, AttrStmt)):
            return self.visit_Node(n)
        if isinstance(n, LetStmt) and not _touches(n.value):
            return self.visit_Node(n)
        return n if any(map(_calls_host, nodes_of(n, Call))) or not _touches(n) else _launched(n)


def _launched(body: Stmt) -> Stmt:
    for tag in reversed(_AXES):
        var = Var(tag.replace(".", "_"), "int32")
        axis = IterVar(Range.from_min_extent(0, 1), var, IterVar.ThreadIndex, tag)
        body = AttrStmt(axis, "thread_extent", const(1), body)
    return body


def _touches(n: Node) -> bool:
    return next(nodes_of(n, BufferLoad, BufferStore), None) is not None


def _calls_host(n: Call) -> bool:
    named = n.args[0].value if n.args and isinstance(n.args[0], StringImm) else ""
    return n.op is CALL_PACKED or (n.op is CALL_EXTERN and named != "")
