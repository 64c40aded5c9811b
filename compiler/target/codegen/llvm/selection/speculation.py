"""Speculation: expressions that can be evaluated even if their value is not needed."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import BinaryOp, Broadcast, Call, FloatImm, IntImm, PrimExpr
from compiler.ir.functor import Functor, parts_of
from compiler.ir.node import Node
from compiler.ir.op import CallEffect, Op


class _Speculation(Functor):
    def visit_Node(self, n: Node) -> bool:
        return all(self.visit(part) for part in parts_of(n, PrimExpr))

    def visit_BufferLoad(self, n: Node) -> bool:
        return False

    def _division(self, n: BinaryOp) -> bool:
        if dt.is_float(n.dtype):
            return bool(self.visit_Node(n))
        divisor = n.b.value if isinstance(n.b, Broadcast) else n.b
        constant = isinstance(divisor, (IntImm, FloatImm)) and divisor.value not in (0, -1)
        return constant and bool(self.visit(n.a))

    visit_Div = visit_Mod = visit_FloorDiv = visit_FloorMod = _division

    def visit_Call(self, n: Call) -> bool:
        pure = isinstance(n.op, Op) and n.op.effect in (CallEffect.PURE, CallEffect.EXPR_ANNOTATION)
        return pure and bool(self.visit_Node(n))


_SPECULATION = _Speculation()


def is_speculatable(e: PrimExpr) -> bool:
    """Return whether evaluating ``e`` can neither fail nor touch memory."""
    return bool(_SPECULATION.visit(e))
