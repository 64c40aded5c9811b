"""Congruences: every value of an expression is ``coeff * k + base`` for some integer ``k``."""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from compiler.arith.const_int_bound import is_index_type
from compiler.arith.deep_equal import deep_equal
from compiler.ir import dtype as dt
from compiler.ir.functor import Functor
from compiler.ir.primexpr import (
    Add,
    Cast,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    PrimExpr,
    Select,
    Sub,
    Var,
)


class ModularSet(NamedTuple):
    """The integers ``coeff * k + base``; a ``coeff`` of zero is the one value ``base``.

    Parameters
    ----------
    coeff : int
        At least zero.
    base : int
        From 0 up to, but without, ``coeff``; any integer where that is zero.
    """

    coeff: int
    base: int


ANY = ModularSet(1, 0)


def modular(coeff: int, base: int) -> ModularSet:
    """Return the set with ``base`` brought into ``0 <= base < coeff``."""
    coeff = abs(coeff)
    return ModularSet(coeff, base % coeff if coeff else base)


class ModularSetAnalyzer(Functor):
    """Computes congruences bottom-up; ``extra`` holds what conditions say about whole expressions."""

    def __init__(self) -> None:
        self.variables: dict[Var, ModularSet] = {}
        self.extra: list[tuple[PrimExpr, ModularSet]] = []
        self.memo: dict[PrimExpr, ModularSet] = {}

    def __call__(self, e: PrimExpr) -> ModularSet:
        """Return the congruence of ``e``."""
        return self.visit(e)

    def visit(self, n: PrimExpr, *args: object) -> ModularSet:
        """Return the congruence of ``n``."""
        values = self.memo.get(n)
        if values is None:
            if isinstance(n, IntImm):
                return ModularSet(0, n.value)
            if not is_index_type(n.dtype):
                return ANY  # wrapping around changes remainders
            values = Functor.visit(self, n)
            for e, extra in self.extra:
                if deep_equal(e, n) and values.coeff and (extra.coeff == 0 or extra.coeff > values.coeff):
                    values = extra
            self.memo[n] = values
        return values

    def visit_PrimExpr(self, n: PrimExpr) -> ModularSet:
        return ANY

    def visit_Var(self, n: Var) -> ModularSet:
        return self.variables.get(n, ANY)

    def visit_Cast(self, n: Cast) -> ModularSet:
        if is_index_type(n.value.dtype) and dt.bits(n.value.dtype) <= dt.bits(n.dtype):
            return self.visit(n.value)
        return ANY

    def visit_Add(self, n: Add) -> ModularSet:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return modular(gcd(a, c), b + d)

    def visit_Sub(self, n: Sub) -> ModularSet:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return modular(gcd(a, c), b - d)

    def visit_Mul(self, n: Mul) -> ModularSet:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return modular(gcd(a * c, a * d, b * c), b * d)

    def visit_FloorDiv(self, n: FloorDiv) -> ModularSet:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        if c == 0 and d > 0 and a % d == 0:
            return modular(a // d, b // d)
        return ANY

    def visit_FloorMod(self, n: FloorMod) -> ModularSet:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        if c == 0 and d > 0:
            if a % d == 0:
                return ModularSet(0, b % d)
            return modular(gcd(a, d), b)
        return ANY

    def visit_Mod(self, n: Mod) -> ModularSet:
        (a, b), (c, d) = self.visit(n.a), self.visit(n.b)
        return modular(gcd(a, d), b) if c == 0 and d != 0 else ANY

    def visit_Min(self, n: Min) -> ModularSet:
        return union(self.visit(n.a), self.visit(n.b))

    def visit_Max(self, n: Max) -> ModularSet:
        return union(self.visit(n.a), self.visit(n.b))

    def visit_Select(self, n: Select) -> ModularSet:
        return union(self.visit(n.true_value), self.visit(n.false_value))

    def visit_Let(self, n: Let) -> ModularSet:
        self.variables[n.var] = self.visit(n.value)
        return self.visit(n.body)


def union(x: ModularSet, y: ModularSet) -> ModularSet:
    """Return the finest congruence that holds for both."""
    return modular(gcd(x.coeff, y.coeff, x.base - y.base), x.base)
