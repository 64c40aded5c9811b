"""Replaces the iteration variables of blocks by their bindings."""

from __future__ import annotations

from compiler.ir.expr.substitute import substitute
from compiler.ir.node import rebuild
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class ConvertBlocksToOpaque(FunctionRewrite):
    """Replace the axes of every block by their values, so that the block has none.

    For example::

    with T.block("B"):                          with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])  →      B[i, j] = A[i, j] + 1.0
        B[vi, vj] = A[vi, vj] + 1.0
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_Convert().visit(func.body))


class _Convert(StmtMutator):
    def visit_BlockRealize(self, n: BlockRealize) -> Stmt:
        block = n.block
        if block.iter_vars:
            values = {axis.var: value for axis, value in zip(block.iter_vars, n.iter_values, strict=True)}
            block = substitute(rebuild(block, iter_vars=()), values)
        return rebuild(n, iter_values=(), block=self.visit(block))
