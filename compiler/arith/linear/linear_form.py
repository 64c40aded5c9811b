"""Linear forms over the integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import gcd

from compiler.arith.deep_equal import tokens
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Add, Cast, FloorDiv, FloorMod, IntImm, Mul, PrimExpr, Sub, Var, const
from compiler.ir.expr.substitute import free_vars, substitute


class NotLinearError(Exception):
    """An expression is not an integer."""


class Atom:
    """A variable, or an expression that is taken as a whole; equal ones are written the same."""

    __slots__ = ("_hash", "_key", "expr")

    def __init__(self, expr: PrimExpr) -> None:
        self.expr = expr
        self._key = tokens(expr)
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self._key == other._key

    def uses(self, var: Var) -> bool:
        """Return whether the value depends on a variable."""
        return self.expr is var or any(v is var for v in free_vars(self.expr))


@dataclass(frozen=True, slots=True)
class LinearForm:
    """``constant + sum(coefficient * atom)``."""

    terms: Mapping[Atom, int]
    constant: int

    def __add__(self, other: LinearForm) -> LinearForm:
        return self.plus(other, 1)

    def __neg__(self) -> LinearForm:
        return self.times(-1)

    def plus(self, other: LinearForm, factor: int) -> LinearForm:
        """Return the sum of this form and a multiple of another one."""
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            total = terms.get(atom, 0) + factor * coefficient
            if total:
                terms[atom] = total
            else:
                terms.pop(atom, None)
        return LinearForm(terms, self.constant + factor * other.constant)

    def times(self, factor: int) -> LinearForm:
        """Return a multiple of this form."""
        return LinearForm({atom: c * factor for atom, c in self.terms.items() if factor}, self.constant * factor)

    def tightened(self) -> LinearForm:
        """Return the smallest form that is non-negative for the same integers."""
        divisor = gcd(*self.terms.values()) if self.terms else 1
        if divisor <= 1:
            return self
        return LinearForm({atom: c // divisor for atom, c in self.terms.items()}, self.constant // divisor)

    @property
    def key(self) -> tuple[frozenset[tuple[Atom, int]], int]:
        """What equal forms have in common."""
        return frozenset(self.terms.items()), self.constant

    def coefficient(self, var: Var) -> int:
        """Return what a variable is multiplied by."""
        return self.terms.get(Atom(var), 0)

    def hides(self, var: Var) -> bool:
        """Return whether a variable occurs in an atom that is more than the variable."""
        return any(atom.expr is not var and atom.uses(var) for atom in self.terms)

    def substitute(self, values: Mapping[Var, PrimExpr]) -> LinearForm:
        """Replace variables."""
        result = LinearForm({}, self.constant)
        for atom, coefficient in self.terms.items():
            result = result.plus(linear_form(substitute(atom.expr, values)), coefficient)
        return result

    def to_expr(self, dtype: str) -> PrimExpr:
        """Return the form as an expression."""
        result: PrimExpr = const(self.constant, dtype)
        for atom, coefficient in self.terms.items():
            result = Add(result, Mul(atom.expr.astype(dtype), const(coefficient, dtype)))
        return result


def linear_form(e: PrimExpr) -> LinearForm:
    """Return an integer expression as a linear form; what is not linear in it becomes an atom.

    Arithmetic is that of integers without end, as everywhere in index arithmetic.
    """
    if isinstance(e, IntImm):
        return LinearForm({}, e.value)
    if dt.lanes(e.dtype) != 1 or not dt.is_int(e.dtype):
        raise NotLinearError(e.dtype)
    if isinstance(e, Add):
        return linear_form(e.a) + linear_form(e.b)
    if isinstance(e, Sub):
        return linear_form(e.a).plus(linear_form(e.b), -1)
    if isinstance(e, Mul):
        return _product(e)
    if isinstance(e, FloorMod) and isinstance(e.b, IntImm) and e.b.value > 0:
        quotient = LinearForm({Atom(FloorDiv(e.a, e.b)): 1}, 0)
        return linear_form(e.a).plus(quotient, -e.b.value)
    if isinstance(e, Cast) and dt.is_int(e.value.dtype) and dt.bits(e.value.dtype) <= dt.bits(e.dtype):
        return linear_form(e.value)
    return LinearForm({Atom(e): 1}, 0)


def _product(e: Mul) -> LinearForm:
    a, b = linear_form(e.a), linear_form(e.b)
    if not b.terms:
        return a.times(b.constant)
    if not a.terms:
        return b.times(a.constant)
    return LinearForm({Atom(e): 1}, 0)


def definitions(atom: Atom) -> Iterator[LinearForm]:
    """Yield what is never negative because an atom is what it is: both ends of the remainder of a quotient."""
    e = atom.expr
    if isinstance(e, FloorDiv) and isinstance(e.b, IntImm) and e.b.value > 0:
        remainder = linear_form(e.a).plus(LinearForm({atom: 1}, 0), -e.b.value)
        yield remainder
        yield LinearForm({}, e.b.value - 1).plus(remainder, -1)
