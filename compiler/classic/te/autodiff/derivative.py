"""Derivatives of scalar expressions, by forward accumulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from compiler.arith.linear.detect_linear_equation import plus_if_any
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import Add, Broadcast, Call, Cast, Div, Let, Max, Min, Mul, PrimExpr, Select, Sub, const
from compiler.ir.functor import Functor
from compiler.ir.node import Node
from compiler.tir.expressions import op as tir
from compiler.tir.expressions.builtin import IF_THEN_ELSE

Seeds = Mapping[Node, PrimExpr]
"""The differentials of some nodes of an expression."""

_Slope = Callable[[PrimExpr, PrimExpr], PrimExpr]

SLOPES: dict[str, _Slope] = {
    "exp": lambda x, y: y,
    "exp2": lambda x, y: y * math.log(2.0),
    "exp10": lambda x, y: y * math.log(10.0),
    "log": lambda x, y: 1.0 / x,
    "log2": lambda x, y: 1.0 / (x * math.log(2.0)),
    "log10": lambda x, y: 1.0 / (x * math.log(10.0)),
    "log1p": lambda x, y: 1.0 / (1.0 + x),
    "sigmoid": lambda x, y: y * (1.0 - y),
    "tanh": lambda x, y: 1.0 - y * y,
    "sqrt": lambda x, y: 0.5 / y,
    "rsqrt": lambda x, y: -0.5 * y / x,
    "sin": lambda x, y: tir.cos(x),
    "cos": lambda x, y: -tir.sin(x),
    "tan": lambda x, y: 1.0 + y * y,
    "sinh": lambda x, y: tir.cosh(x),
    "cosh": lambda x, y: tir.sinh(x),
    "asin": lambda x, y: 1.0 / tir.sqrt(1.0 - x * x),
    "acos": lambda x, y: -1.0 / tir.sqrt(1.0 - x * x),
    "atan": lambda x, y: 1.0 / (1.0 + x * x),
    "asinh": lambda x, y: 1.0 / tir.sqrt(x * x + 1.0),
    "acosh": lambda x, y: 1.0 / tir.sqrt(x * x - 1.0),
    "atanh": lambda x, y: 1.0 / (1.0 - x * x),
    "erf": lambda x, y: tir.exp(-x * x) * (2.0 / math.sqrt(math.pi)),
    "fabs": lambda x, y: Select(x >= 0, const(1, x.dtype), const(-1, x.dtype)),
}
"""Derivatives of the functions of one argument, from the argument and the value."""

PIECEWISE_CONSTANT = frozenset({"floor", "ceil", "trunc", "round", "nearbyint"})


def differential(e: PrimExpr, seeds: Seeds) -> PrimExpr | None:
    """Return the differential of an expression, in its data type; None if it does not change.

    ``d(a * b)`` with ``{a: da, b: db}`` is ``da * b + a * db``.  Conditions and what is rounded are constant.
    Where a function has no derivative, that of one of its sides is taken: of ``max`` and ``min`` that of the first
    operand where both are equal.

    ``seeds`` are the differentials of the nodes that change, by identity, each of the data type of its node.
    """
    return _Differential(seeds).of(e)


class _Differential(Functor):
    def __init__(self, seeds: Seeds) -> None:
        self._done: dict[Node, PrimExpr | None] = dict(seeds)

    def of(self, e: PrimExpr) -> PrimExpr | None:
        if e not in self._done:
            self._done[e] = self.visit(e)
        return self._done[e]

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr | None:
        """An expression that is constant if all of its operands are, such as a literal."""
        for name in n.children:
            operands = getattr(n, name)
            for operand in operands if isinstance(operands, tuple) else (operands,):
                if isinstance(operand, PrimExpr) and self.of(operand) is not None:
                    raise ArgumentError(f"gradient: there is no derivative of {type(n).__name__} in {show(n)}")
        return None

    def visit_ProducerLoad(self, n: PrimExpr) -> None:
        return None

    def visit_Add(self, n: Add) -> PrimExpr | None:
        return plus_if_any(self.of(n.a), self.of(n.b))

    def visit_Sub(self, n: Sub) -> PrimExpr | None:
        a, b = self.of(n.a), self.of(n.b)
        if b is None:
            return a
        return -b if a is None else a - b

    def visit_Mul(self, n: Mul) -> PrimExpr | None:
        a, b = self.of(n.a), self.of(n.b)
        return plus_if_any(None if a is None else a * n.b, None if b is None else n.a * b)

    def visit_Div(self, n: Div) -> PrimExpr | None:
        a, b = self.of(n.a), self.of(n.b)
        return plus_if_any(None if a is None else a / n.b, None if b is None else -(n.a * b) / (n.b * n.b))

    def visit_Max(self, n: Max) -> PrimExpr | None:
        return _choice(Select, n.a >= n.b, self.of(n.a), self.of(n.b))

    def visit_Min(self, n: Min) -> PrimExpr | None:
        return _choice(Select, n.a <= n.b, self.of(n.a), self.of(n.b))

    def visit_Select(self, n: Select) -> PrimExpr | None:
        return _choice(Select, n.condition, self.of(n.true_value), self.of(n.false_value))

    def visit_Cast(self, n: Cast) -> PrimExpr | None:
        value = self.of(n.value) if dt.is_float(n.dtype) else None
        return None if value is None else value.astype(n.dtype)

    def visit_Broadcast(self, n: Broadcast) -> PrimExpr | None:
        value = self.of(n.value)
        return None if value is None else Broadcast(value, n.lanes)

    def visit_Let(self, n: Let) -> PrimExpr | None:
        self._done[n.var] = self.of(n.value)
        body = self.of(n.body)
        return None if body is None else Let(n.var, n.value, body)

    def visit_Call(self, n: Call) -> PrimExpr | None:
        if n.op is IF_THEN_ELSE:
            return _choice(tir.if_then_else, n.args[0], self.of(n.args[1]), self.of(n.args[2]))
        name = getattr(n.op, "name", "").removeprefix("tir.")
        if name == "pow":
            return self._power(n)
        slope = SLOPES.get(name)
        if slope is not None:
            x = self.of(n.args[0])
            return None if x is None else x * slope(n.args[0], n)
        return None if name in PIECEWISE_CONSTANT else self.visit_PrimExpr(n)

    def _power(self, n: Call) -> PrimExpr | None:
        x, y = n.args
        dx, dy = self.of(x), self.of(y)
        by_base = None if dx is None else dx * y * tir.power(x, y - const(1, y.dtype))
        return plus_if_any(by_base, None if dy is None else dy * tir.log(x) * n)


def _choice(
    choose: Callable[[PrimExpr, PrimExpr, PrimExpr], PrimExpr],
    condition: PrimExpr,
    a: PrimExpr | None,
    b: PrimExpr | None,
) -> PrimExpr | None:
    changed = b if a is None else a
    if changed is None:
        return None
    zero = const(0, changed.dtype)
    return choose(condition, zero if a is None else a, zero if b is None else b)
