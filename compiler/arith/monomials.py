"""Monomials, and their exact division."""

from __future__ import annotations

from compiler.arith.deep_equal import deep_equal
from compiler.ir.expr.primexpr import IntImm, Mul, PrimExpr, const


def exact_quotient(dividend: PrimExpr, divisor: PrimExpr) -> PrimExpr | None:
    """Divide a product by another one whose factors are among its own; None if they do not cancel, or it is 0.

    For example ``n * 16384`` by ``n * 128`` → ``128``; ``n * 3`` by ``m`` → None.
    """
    coefficient, factors = _factors(dividend)
    by, divisors = _factors(divisor)
    if by == 0 or coefficient % by:
        return None
    for factor in divisors:
        at = next((i for i, mine in enumerate(factors) if deep_equal(mine, factor)), None)
        if at is None:
            return None
        del factors[at]
    quotient: PrimExpr | None = None
    for factor in factors:
        quotient = factor if quotient is None else quotient * factor
    scale = const(coefficient // by, dividend.dtype)
    if quotient is None:
        return scale
    return quotient if coefficient == by else quotient * scale


def _factors(e: PrimExpr) -> tuple[int, list[PrimExpr]]:
    """Return the constant factor of a product, and the others."""
    coefficient = 1
    factors: list[PrimExpr] = []
    todo = [e]
    while todo:
        factor = todo.pop()
        if isinstance(factor, Mul):
            todo += (factor.b, factor.a)
        elif isinstance(factor, IntImm):
            coefficient *= factor.value
        else:
            factors.append(factor)
    return coefficient, factors
