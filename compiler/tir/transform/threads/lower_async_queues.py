"""Lowers asynchronous commits and waits to PTX."""

from __future__ import annotations

from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, const
from compiler.ir.op import Op
from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import storage_sync
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, Evaluate, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtMutator, statements_of
from compiler.tir.transform.pass_base import FunctionRewrite
from compiler.tir.transform.threads.async_queues import COMMIT_QUEUE, WAIT_COUNT, WAIT_QUEUE


class LowerAsyncQueues(FunctionRewrite):
    """Write the queues of asynchronous stages as groups of asynchronous copies.

    For example::

        with T.attr(0, "async_commit_queue_scope", 0):          T.ptx_cp_async(…)
            T.ptx_cp_async(…)                                   T.ptx_commit_group()
        with T.attr(0, "async_wait_queue_scope", 0):        →   T.ptx_wait_group(1)
            with T.attr(0, "async_wait_inflight_count", 1):     T.tvm_storage_sync("shared")
                C[tx] = S[tx]                                   C[tx] = S[tx]

    A thread waits for its own copies; the barrier after that lets it read those of the others.  A thread has one queue
    of groups: where the program has several, or does not say a number, it waits for all copies.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if not {COMMIT_QUEUE, WAIT_QUEUE} & features(func).attrs:
            return func
        queues = {str(n.value) for n in statements_of(func.body, AttrStmt) if n.attr_key == COMMIT_QUEUE}
        return func.with_body(_Lower(has_counts=len(queues) == 1).visit(func.body))


class _Lower(StmtMutator):
    def __init__(self, has_counts: bool) -> None:
        self._has_counts = has_counts

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key == COMMIT_QUEUE:
            return seq([self.visit(n.body), _call("tir.ptx_commit_group")])
        if n.attr_key == WAIT_QUEUE and isinstance(n.body, AttrStmt) and n.body.attr_key == WAIT_COUNT:
            count = n.body.value
            waited = count if self._has_counts and isinstance(count, IntImm) else const(0)
            barrier = Evaluate(storage_sync("shared"))
            return seq([_call("tir.ptx_wait_group", waited), barrier, self.visit(n.body.body)])
        return self.visit_Node(n)


def _call(name: str, *args: PrimExpr) -> Stmt:
    return Evaluate(Call("void", Op.get(name), args))
