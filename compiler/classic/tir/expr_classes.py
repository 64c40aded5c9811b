"""Classes of expressions under TVM's names, for ``isinstance``."""

from compiler.ir.expr.primexpr import And, FloatImm, IntImm, Not, Or
from compiler.ir.expr.scalars import StringImm

__all__ = ["ConstExpr", "LogicalExpr"]

ConstExpr = IntImm | FloatImm | StringImm
LogicalExpr = And | Or | Not
