"""``detect_linear_equation`` and ``detect_clip_bound``: linear forms of expressions and conditions."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.arith.analyzer import Analyzer
from compiler.ir.expr import primexpr as prim
from compiler.ir.expr.primexpr import PrimExpr, Var, binary, const
from compiler.ir.expr.substitute import uses_var
from compiler.ir.functor import Functor


class _NotLinear(Exception):
    """The expression is not a linear function of the variable."""


Linear = tuple[PrimExpr | None, PrimExpr | None]
"""Coefficient and rest of ``coeff * var + base``; None is zero."""


class _LinearIn(Functor):
    """Splits an expression into ``coeff * var + base``."""

    def __init__(self, var: Var) -> None:
        self._var = var

    def visit_Var(self, n: Var) -> Linear:
        return (const(1, n.dtype), None) if n is self._var else (None, n)

    def visit_Add(self, n: prim.Add) -> Linear:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return plus_if_any(a, c), plus_if_any(b, d)

    def visit_Sub(self, n: prim.Sub) -> Linear:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return _minus(a, c), _minus(b, d)

    def visit_Mul(self, n: prim.Mul) -> Linear:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        if a is not None and c is not None:
            raise _NotLinear
        if c is not None:
            a, b, d = c, d, b
        return _times(a, d), _times(b, d)

    def visit_PrimExpr(self, n: PrimExpr) -> Linear:
        if uses_var(n, self._var):
            raise _NotLinear
        return None, n


def plus_if_any(a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    """Return the sum of two expressions, where None stands for zero."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


def _minus(a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    if b is None:
        return a
    return const(0, b.dtype) - b if a is None else a - b


def _times(a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    return None if a is None or b is None else a * b


def linear_in(expr: PrimExpr, var: Var) -> tuple[PrimExpr, PrimExpr] | None:
    """Return ``(coeff, base)`` with ``expr == coeff * var + base``, or None."""
    try:
        coeff, base = _LinearIn(var).visit(expr)
    except _NotLinear:
        return None
    zero = const(0, expr.dtype)
    return (zero if coeff is None else coeff), (zero if base is None else base)


def detect_linear_equation(expr: PrimExpr, var_list: Sequence[Var]) -> list[PrimExpr]:
    """Read ``expr`` as ``sum(coeff[i] * var[i]) + base``: coefficients, then ``base``; nothing if it is not linear."""
    analyzer = Analyzer()
    base = expr
    coefficients: list[PrimExpr] = []
    for var in var_list:
        linear = linear_in(base, var)
        if linear is None:
            return []
        coefficients.append(linear[0])
        base = linear[1]
    for i, var in enumerate(var_list):
        if uses_var(base, var) or any(uses_var(c, var) for c in coefficients[i:]):
            return []
    if any(uses_var(c, lambda v: any(v is w for w in var_list)) for c in coefficients):
        return []
    return [analyzer.simplify(c) for c in coefficients] + [analyzer.simplify(base)]


def detect_clip_bound(expr: PrimExpr, var_list: Sequence[Var]) -> list[PrimExpr | None]:
    """Read a conjunction of comparisons as bounds on each variable: ``[min_0, max_0, min_1, max_1, …]``.

    Both ends are included, and None where there is no end.  The list is empty if a part of ``expr`` is not a bound on
    one of the variables.
    """
    bounds: list[list[PrimExpr | None]] = [[None, None] for _ in var_list]
    for condition in _conjuncts(expr):
        if not _clip(condition, var_list, bounds):
            return []
    simplify = Analyzer().simplify
    return [None if end is None else simplify(end) for pair in bounds for end in pair]


def _conjuncts(e: PrimExpr) -> list[PrimExpr]:
    if isinstance(e, prim.And):
        return _conjuncts(e.a) + _conjuncts(e.b)
    if isinstance(e, prim.Call) and getattr(e.op, "name", "") == "tir.likely":
        return _conjuncts(e.args[0])
    return [e]


def _clip(e: PrimExpr, var_list: Sequence[Var], bounds: list[list[PrimExpr | None]]) -> bool:
    """Add the bound that a comparison is; return whether it is one."""
    if not isinstance(e, (prim.LT, prim.LE, prim.GT, prim.GE, prim.EQ)):
        return isinstance(e, prim.IntImm) and e.value == 1
    used = [i for i, var in enumerate(var_list) if uses_var(e, var)]
    if len(used) != 1:
        return False
    # the condition as difference <= 0, or == 0
    difference = binary(prim.Sub, e.b, e.a) if isinstance(e, (prim.GT, prim.GE)) else binary(prim.Sub, e.a, e.b)
    if isinstance(e, (prim.LT, prim.GT)):
        difference = difference + 1
    linear = linear_in(difference, var_list[used[0]])
    if linear is None:
        return False
    coeff, base = Analyzer().simplify(linear[0]), linear[1]
    if not isinstance(coeff, prim.IntImm) or coeff.value == 0:
        return False
    factor, is_lower = abs(coeff.value), coeff.value < 0
    if isinstance(e, prim.EQ) and factor != 1:
        return False
    pair = bounds[used[0]]
    # factor * var >= base, or factor * var <= -base
    end = (base + (factor - 1)) // factor if is_lower else (const(0, base.dtype) - base) // factor
    if is_lower or isinstance(e, prim.EQ):
        pair[0] = end if pair[0] is None else binary(prim.Max, pair[0], end)
    if not is_lower or isinstance(e, prim.EQ):
        pair[1] = end if pair[1] is None else binary(prim.Min, pair[1], end)
    return True
