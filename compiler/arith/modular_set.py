"""Congruences: every value of an expression is ``coeff * k + base`` for some integer ``k``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import ClassVar, NamedTuple

from compiler.arith.const_int_bound import ConstIntBoundAnalyzer, is_index_type
from compiler.arith.deep_equal import deep_equal
from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.functor import Functor


@dataclass
class ModularSet:
    """The integers ``coeff * k + base``; a ``coeff`` of zero is the one value ``base``.

    Else ``coeff`` is positive, and ``base`` from 0 up to, but without, ``coeff``.
    """

    coeff: int
    base: int

    def __iter__(self) -> Iterator[int]:
        return iter((self.coeff, self.base))


class Congruence(NamedTuple):
    """A :class:`ModularSet` as the analysis computes with it."""

    coeff: int
    base: int


ANY = Congruence(1, 0)


def modular(coeff: int, base: int) -> Congruence:
    """Return the set with ``base`` brought into ``0 <= base < coeff``."""
    coeff = abs(coeff)
    return Congruence(coeff, base % coeff if coeff else base)


class ModularSetAnalyzer(Functor):
    """Computes congruences bottom-up; ``extra`` holds what conditions say about whole expressions."""

    wraps_around: ClassVar[bool] = True
    bounds: ConstIntBoundAnalyzer | None = None

    def __init__(self) -> None:
        self.variables: dict[Var, Congruence] = {}
        self.extra: list[tuple[PrimExpr, Congruence]] = []
        self.memo: dict[PrimExpr, Congruence] = {}

    def __call__(self, e: PrimExpr) -> Congruence:
        """Return the congruence of ``e``."""
        return self.visit(e)

    def visit(self, n: PrimExpr, *args: object) -> Congruence:
        if type(n) is expr.IntImm:
            return Congruence(0, n.value)
        values = self.memo.get(n)
        if values is None:
            if self.wraps_around and not is_index_type(n.dtype):
                return ANY  # wrapping around changes remainders
            values = Functor.visit(self, n)
            for e, extra in self.extra:
                if deep_equal(e, n):
                    values = intersection(values, extra)
            self.memo[n] = values
        return values

    def visit_PrimExpr(self, n: PrimExpr) -> Congruence:
        return ANY

    def visit_Var(self, n: Var) -> Congruence:
        return self.variables.get(n, ANY)

    def visit_Cast(self, n: expr.Cast) -> Congruence:
        if is_index_type(n.value.dtype) and dt.is_integral(n.dtype) and dt.bits(n.value.dtype) <= dt.bits(n.dtype):
            return self.visit(n.value)
        return ANY

    def visit_Add(self, n: expr.Add) -> Congruence:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return modular(gcd(a, c), b + d)

    def visit_Sub(self, n: expr.Sub) -> Congruence:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return modular(gcd(a, c), b - d)

    def visit_Mul(self, n: expr.Mul) -> Congruence:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return modular(gcd(a * c, a * d, b * c), b * d)

    def visit_FloorDiv(self, n: expr.FloorDiv) -> Congruence:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        if c == 0 and d > 0 and a % d == 0:
            return modular(a // d, b // d)
        return ANY

    def visit_FloorMod(self, n: expr.FloorMod) -> Congruence:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        if c == 0 and d > 0:
            if a % d == 0:
                return Congruence(0, b % d)
            return modular(gcd(a, d), b)
        return ANY

    def visit_Div(self, n: expr.Div) -> Congruence:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        if c != 0 or d <= 0 or a % d:
            return ANY
        if b == 0 or (self.bounds is not None and self.bounds.visit(n.a)[0] >= 0):
            return modular(a // d, b // d)
        return ANY

    def visit_Call(self, n: expr.Call) -> Congruence:
        name = getattr(n.op, "name", "")
        if name == "tir.shift_right":
            (a, b), (c, d) = self.visit(n.args[0]), self.visit(n.args[1])
            if c == 0 and 0 <= d < dt.bits(n.dtype) and a % (1 << d) == 0:
                return modular(a >> d, b >> d)
        elif name == "tir.bitwise_and":
            return self._masked(n)
        elif name == "tir.if_then_else":
            return union(self.visit(n.args[1]), self.visit(n.args[2]))
        return ANY

    def _masked(self, n: expr.Call) -> Congruence:
        """Return the congruence of ``x & (2 ** k - 1)``, which is ``x % 2 ** k``."""
        (a, b), (c, d) = self.visit(n.args[0]), self.visit(n.args[1])
        if c == 0 and d > 0 and d & (d + 1) == 0:
            return modular(gcd(a, d + 1), b) if a % (d + 1) else Congruence(0, b % (d + 1))
        return ANY

    def visit_Mod(self, n: expr.Mod) -> Congruence:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return modular(gcd(a, d), b) if c == 0 and d != 0 else ANY

    def visit_Min(self, n: expr.Min | expr.Max) -> Congruence:
        return union(self.visit(n.a), self.visit(n.b))

    visit_Max = visit_Min

    def visit_Select(self, n: expr.Select) -> Congruence:
        return union(self.visit(n.true_value), self.visit(n.false_value))

    def visit_Let(self, n: expr.Let) -> Congruence:
        self.variables[n.var] = self.visit(n.value)
        return self.visit(n.body)


class TrustingModularSet(ModularSetAnalyzer):
    """Congruences as TVM's users see them: nothing overflows, and what is converted fits the type."""

    wraps_around = False

    def __init__(self, exact: ModularSetAnalyzer) -> None:
        super().__init__()
        self.variables, self.extra, self.bounds = exact.variables, exact.extra, exact.bounds

    def visit_Cast(self, n: expr.Cast) -> Congruence:
        value: PrimExpr = n.value
        while isinstance(value, expr.Cast) and dt.is_float(value.dtype):
            value = value.value
        return self.visit(value)


def intersection(x: Congruence, y: Congruence) -> Congruence:
    """Return what is congruent to both, by the Chinese remainder theorem; one of them where nothing is."""
    if x.coeff == 0 or y.coeff == 0:
        return x if x.coeff == 0 else y
    common = gcd(x.coeff, y.coeff)
    if (y.base - x.base) % common:
        return y  # a contradiction: the code is never reached
    period = y.coeff // common
    steps = (y.base - x.base) // common * pow(x.coeff // common, -1, period) if period > 1 else 0
    return modular(x.coeff * period, x.base + x.coeff * (steps % period))


def union(x: Congruence, y: Congruence) -> Congruence:
    """Return the finest congruence that holds for both."""
    return modular(gcd(x.coeff, y.coeff, x.base - y.base), x.base)
