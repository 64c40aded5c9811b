"""Rewrites the indices of split loops to the form that schedules produce: division first, then modulo."""

from __future__ import annotations

import math

from compiler.ir.expr.primexpr import LT, Add, FloorDiv, FloorMod, IntImm, Mul, PrimExpr, const
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.pass_base import FunctionRewrite


class RenormalizeSplitPattern(FunctionRewrite):
    """Take quotients of remainders as remainders of quotients, and quotients of sums apart.

    For constants with a common factor::

        x % 64 // 16           →    x // 16 % 4
        (x * 256 + y) // 64    →    x * 4 + y // 64
        x * 256 + y < 512      →    (x + y // 256) // 2 < 1
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_Renormalize().visit(func.body))


class _Renormalize(StmtExprMutator):
    def visit_FloorDiv(self, n: FloorDiv) -> PrimExpr:
        new = _quotient(self.visit(n.a), self.visit(n.b))
        return n if isinstance(new, FloorDiv) and new.a is n.a and new.b is n.b else new

    def visit_LT(self, n: LT) -> PrimExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        return LT(_quotient(a, b), const(1, b.dtype)) if _positive(b) else LT(a, b)


def _quotient(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """Return the quotient of two expressions, taken apart where the constants have a common factor."""
    divisor = _positive(b)
    if not divisor:
        return a // b
    if isinstance(a, FloorMod) and _positive(a.b) % divisor == 0 and _positive(a.b):
        return _quotient(a.a, b) % const(_positive(a.b) // divisor, a.dtype)
    first, rest = _first_operand(a)
    if rest is not None and isinstance(first, Mul) and _positive(first.b):
        factor = _positive(first.b)
        common = math.gcd(factor, divisor)
        if common > 1:
            apart = first.a * const(factor // common, a.dtype) + _quotient(rest, const(common, a.dtype))
            return apart if common == divisor else apart // const(divisor // common, a.dtype)
    return a // b


def _first_operand(e: PrimExpr) -> tuple[PrimExpr, PrimExpr | None]:
    """Return the first operand of a sum, and the sum of the others; None if there is no other."""
    if not isinstance(e, Add):
        return e, None
    first, others = _first_operand(e.a)
    return first, e.b if others is None else others + e.b


def _positive(e: PrimExpr) -> int:
    """Return the value of a positive constant, 0 for anything else."""
    return e.value if isinstance(e, IntImm) and e.value > 0 else 0
