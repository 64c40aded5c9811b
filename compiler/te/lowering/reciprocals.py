"""Division by floating-point constants, as products."""

from __future__ import annotations

from compiler.ir.expr.primexpr import Div, FloatImm, Mul, PrimExpr, const
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt_functor import StmtExprMutator

_SMALLEST_NORMAL = {"float32": 2.0**-126, "float64": 2.0**-1022}


def multiply_by_reciprocals(func: PrimFunc) -> PrimFunc:
    """Multiply by the reciprocals of constants instead of dividing by the constants, as TVM's simplifier does.

    A reciprocal is rounded, so that the last place of a result may differ, unless the constant is a power of two.
    Numbers of 16 bits are divided, as they have few places.
    """
    return func.with_body(_Reciprocals().visit(func.body))


class _Reciprocals(StmtExprMutator):
    def visit_Div(self, n: Div) -> PrimExpr:
        new: PrimExpr = self.visit_Node(n)
        if not isinstance(new, Div) or not isinstance(new.b, FloatImm):
            return new
        smallest, divisor = _SMALLEST_NORMAL.get(new.dtype), new.b.value
        if smallest is None or not smallest <= abs(divisor) <= 1 / smallest:
            return new  # the reciprocal is not a number with all its digits
        return Mul(new.a, const(1.0 / divisor, new.dtype))
