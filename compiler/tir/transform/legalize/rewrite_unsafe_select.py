"""Rewrites selects to branches where evaluating the other side is unsafe."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, PrimExpr, Select
from compiler.ir.functor import parts_of
from compiler.ir.node import Node
from compiler.ir.op import CallEffect, Op
from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class RewriteUnsafeSelect(FunctionRewrite):
    """Turn a select that evaluates a load on both sides into a choice that evaluates only one.

    ``T.Select`` evaluates both sides and picks one, which is fast for arithmetic but wrong if a side loads from
    outside of a buffer whenever it is not picked::

        T.Select(i < n, A[i], T.float32(0))   →   T.if_then_else(i < n, A[i], T.float32(0))

    A select whose condition is a vector stays: its lanes may choose differently.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if Select not in features(func).nodes:
            return func
        return func.with_body(_Rewriter().visit(func.body))


class _Rewriter(StmtExprMutator):
    def visit_Select(self, n: Select) -> PrimExpr:
        new: Select = self.visit_Node(n)
        if dt.lanes(new.condition.dtype) > 1 or not (_unsafe(new.true_value) or _unsafe(new.false_value)):
            return new
        return Call(new.dtype, IF_THEN_ELSE, (new.condition, new.true_value, new.false_value))


def _unsafe(e: Node) -> bool:
    """Return whether evaluating ``e`` where it was not asked for could read from anywhere or change something."""
    if isinstance(e, BufferLoad):
        return True
    if isinstance(e, Call):
        if e.op is IF_THEN_ELSE:
            return _unsafe(e.args[0])
        if not isinstance(e.op, Op) or e.op.effect.value > CallEffect.PURE.value:
            return True
    return any(_unsafe(part) for part in parts_of(e, Node))
