"""Domains of loop variables under a condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.arith.analyzer import Analyzer
from compiler.arith.int_set import IntervalSet
from compiler.arith.interval_arithmetic import eval_set
from compiler.arith.linear.detect_linear_equation import linear_in
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import EQ, GE, GT, LE, LT, And, Call, IntImm, Not, PrimExpr, Var
from compiler.ir.expr.substitute import free_vars
from compiler.ir.op import Op

Domains = Mapping[Var, IntervalSet]

_LIKELY = "tir.likely"


def domains_where(condition: PrimExpr, domains: Domains, analyzer: Analyzer) -> dict[Var, IntervalSet]:
    """Return the domains of variables where a condition holds.

    For example ``i + j < 4`` with ``i`` and ``j`` from 0 to 7 leaves 0 to 3 for each of them. Comparisons of integers,
    and what ``And`` makes of them, are looked at. Only variables of the condition are returned, with domains that are
    the same or smaller; what it says of two variables together is lost.
    """
    smaller: dict[Var, IntervalSet] = {}
    for e in _not_negative(condition):
        for var in free_vars(e):
            if var in domains:
                smaller[var] = _bounded(smaller.get(var, domains[var]), e, var, domains, analyzer)
    return smaller


def _not_negative(condition: PrimExpr) -> Iterator[PrimExpr]:
    """Yield what is at least zero where the condition holds."""
    match condition:
        case And(a, b):
            yield from _not_negative(a)
            yield from _not_negative(b)
        case Call() if isinstance(condition.op, Op) and condition.op.name == _LIKELY:
            yield from _not_negative(condition.args[0])
        case Not(a):
            yield from _not_negative_otherwise(a)
        case LT(a, b) | GT(b, a) if _is_integer(a):
            yield b - a - 1
        case LE(a, b) | GE(b, a) if _is_integer(a):
            yield b - a
        case EQ(a, b) if _is_integer(a):
            yield b - a
            yield a - b


def _not_negative_otherwise(condition: PrimExpr) -> Iterator[PrimExpr]:
    """Yield what is at least zero where the condition does not hold."""
    match condition:
        case Call() if isinstance(condition.op, Op) and condition.op.name == _LIKELY:
            yield from _not_negative_otherwise(condition.args[0])
        case Not(a):
            yield from _not_negative(a)
        case LT(a, b) | GT(b, a) if _is_integer(a):
            yield a - b
        case LE(a, b) | GE(b, a) if _is_integer(a):
            yield a - b - 1


def _is_integer(e: PrimExpr) -> bool:
    return dt.is_int(e.dtype) and dt.lanes(e.dtype) == 1


def _bounded(domain: IntervalSet, e: PrimExpr, var: Var, domains: Domains, analyzer: Analyzer) -> IntervalSet:
    """Return where a variable can be while ``e`` is at least zero, whatever the other variables are.

    A bound that may lie outside of the domain is left out: it would hide how large the domain is at most.
    """
    linear = linear_in(e, var)
    factor = None if linear is None else analyzer.simplify(linear[0])
    if linear is None or not isinstance(factor, IntImm) or factor.value == 0:
        return domain
    most = eval_set(linear[1], {v: other for v, other in domains.items() if v is not var}, analyzer)
    if not most.has_upper_bound():
        return domain
    if factor.value > 0:
        low = analyzer.simplify(-(most.max_value // factor.value))
        return IntervalSet(low, domain.max_value) if analyzer.can_prove(low >= domain.min_value) else domain
    high = analyzer.simplify(most.max_value // -factor.value)
    return IntervalSet(domain.min_value, high) if analyzer.can_prove(high <= domain.max_value) else domain
