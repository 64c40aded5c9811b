"""Lowers the init statements of reduction blocks."""

from __future__ import annotations

from compiler.ir.node import rebuild
from compiler.tir.statements.block import Block, reduction_begins
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import IfThenElse, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class LowerInitBlock(FunctionRewrite):
    """Let what a block does first be a branch of its body, taken where all reduction axes begin.

    For example::

    with T.init():                      if vk == 0:
        C[vi, vj] = 0.0            →        C[vi, vj] = 0.0
    C[vi, vj] += A[vi, vk] * …          C[vi, vj] += A[vi, vk] * …
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_LowerInit().visit(func.body))


class _LowerInit(StmtMutator):
    def visit_Block(self, n: Block) -> Stmt:
        body = self.visit(n.body)
        if n.init is None:
            return rebuild(n, body=body)
        begins = reduction_begins(n)
        init = n.init if begins is None else IfThenElse(begins, n.init)
        return rebuild(n, init=None, body=seq([init, body]))
