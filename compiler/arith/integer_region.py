"""Unions of integer polyhedra.

A condition may say more than linear inequalities do.  What it says beyond them is left out, so that the region is too
large (:func:`possible_region`), or makes the region too small (:func:`certain_region`), as the question demands: what
may be written is the former, what is certainly known the latter.

Emptiness and projection are by Fourier and Motzkin's elimination over the rationals, tightened for integers.

References
----------
A. Schrijver, Theory of Linear and Integer Programming, section 12.2.
W. Pugh, The Omega Test, Supercomputing 1991 (tightening).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from compiler.arith.facts import is_stable
from compiler.arith.linear.linear_form import Atom, LinearForm, NotLinearError, definitions, linear_form
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Var, const

MAX_PARTS = 12
"""How many parts a union has at most; beyond, regions are approximated in the direction that is asked for."""
MAX_INEQUALITIES = 32
"""How many inequalities elimination works on at most; beyond, they are not weighed against each other."""


class Conjunction:
    """The points for which each of some linear forms is at least zero."""

    __slots__ = ("forms", "key")

    def __init__(self, forms: Iterable[LinearForm] = ()) -> None:
        unique = {form.key: form for form in (f.tightened() for f in forms) if form.terms or form.constant < 0}
        self.forms: tuple[LinearForm, ...] = tuple(unique.values())
        self.key = frozenset(unique)

    def __and__(self, other: Conjunction) -> Conjunction:
        return Conjunction(self.forms + other.forms)

    def is_empty(self) -> bool:
        """Return whether no point is inside; False where that is not certain."""
        forms = _with_definitions(self.forms)
        while True:
            if any(not form.terms and form.constant < 0 for form in forms):
                return True
            atom = _cheapest_atom(forms)
            if atom is None or len(forms) > MAX_INEQUALITIES:
                return False
            forms = _eliminate(forms, atom)

    def without(self, var: Var) -> Conjunction:
        """Return the projection along a variable, or a set that covers it."""
        forms = [form for form in _with_definitions(self.forms) if not form.hides(var)]
        return Conjunction(_eliminate(forms, Atom(var)))

    def solution(self, var: Var) -> PrimExpr | None:
        """Return what a variable equals in each point, if the inequalities leave it one value.

        From ``0 <= x - c * var < c`` follows ``var = x // c``, and ``var = x`` from the equation that this is for 1.
        """
        for form in self.forms:
            factor = -form.coefficient(var)
            if factor <= 0 or form.hides(var) or LinearForm({}, factor - 1).plus(form, -1).key not in self.key:
                continue
            rest = form.plus(LinearForm({Atom(var): factor}, 0), 1).to_expr(var.dtype)
            return rest if factor == 1 else expr.FloorDiv(rest, const(factor, var.dtype))
        return None

    def uses(self, var: Var) -> bool:
        """Return whether the inequalities depend on a variable."""
        return any(atom.uses(var) for form in self.forms for atom in form.terms)

    def substitute(self, values: Mapping[Var, PrimExpr]) -> Conjunction | None:
        """Replace variables; None if a value is not an integer."""
        try:
            return Conjunction(form.substitute(values) for form in self.forms)
        except NotLinearError:
            return None


def _with_definitions(forms: Iterable[LinearForm]) -> list[LinearForm]:
    """Return the forms and what holds of the quotients in them."""
    result, seen, todo = list(forms), set(), list(forms)
    while todo:
        for atom in todo.pop().terms:
            if atom not in seen:
                seen.add(atom)
                more = list(definitions(atom))
                result += more
                todo += more
    return result


def _cheapest_atom(forms: list[LinearForm]) -> Atom | None:
    """Return the atom whose elimination leaves the fewest inequalities."""
    counts: dict[Atom, list[int]] = {}
    for form in forms:
        for atom, coefficient in form.terms.items():
            counts.setdefault(atom, [0, 0])[coefficient > 0] += 1
    return min(counts, key=lambda atom: counts[atom][0] * counts[atom][1], default=None)


def _eliminate(forms: list[LinearForm], atom: Atom) -> list[LinearForm]:
    """Return what follows about the other atoms."""
    lower = [form for form in forms if form.terms.get(atom, 0) > 0]
    upper = [form for form in forms if form.terms.get(atom, 0) < 0]
    result = {form.key: form for form in forms if atom not in form.terms}
    for low in lower:
        for high in upper:
            combined = low.times(-high.terms[atom]).plus(high, low.terms[atom]).tightened()
            if combined.terms or combined.constant < 0:
                result[combined.key] = combined
    return list(result.values())


class Region:
    """A union of conjunctions, none for the empty region; one without inequalities for all points."""

    __slots__ = ("parts",)

    def __init__(self, parts: Iterable[Conjunction] = ()) -> None:
        unique = {part.key: part for part in parts if not any(not f.terms and f.constant < 0 for f in part.forms)}
        everything = unique.get(frozenset())
        self.parts: tuple[Conjunction, ...] = (everything,) if everything is not None else tuple(unique.values())

    @staticmethod
    def everything() -> Region:
        """Return the region of all points."""
        return Region([Conjunction()])

    def __or__(self, other: Region) -> Region:
        return Region(self.parts + other.parts)

    def __and__(self, other: Region) -> Region:
        both = [a & b for a in self.parts for b in other.parts]
        return Region(both if len(both) <= 1 else [part for part in both if not part.is_empty()])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and {p.key for p in self.parts} == {p.key for p in other.parts}

    def is_empty(self) -> bool:
        """Return whether no point is inside; False where that is not certain."""
        return all(part.is_empty() for part in self.parts)

    def minus(self, other: Region, unknown: bool = False) -> Region:
        """Return the points that are not in another region.

        Where there would be too many parts, points may stay that should be taken away (``unknown``), or others be
        missing.
        """
        rest = self
        for part in other.parts:
            if not (rest & Region([part])).parts:
                continue
            outside = Region(Conjunction([LinearForm({}, -1).plus(form, -1)]) for form in part.forms)
            smaller = rest & outside
            if len(smaller.parts) > MAX_PARTS:
                if unknown:
                    continue
                return Region()
            rest = smaller
        return rest

    def covers(self, other: Region) -> bool:
        """Return whether all points of another region are inside; False where that is not certain."""
        todo = list(other.parts)
        for part in self.parts:
            todo = [piece for whole in todo for piece in _pieces_outside(whole, part)]
            if len(todo) > MAX_PARTS:
                return False
        return all(part.is_empty() for part in todo)

    def without(self, variables: Iterable[Var]) -> Region:
        """Return the projection along variables, or a region that covers it."""
        parts: Iterable[Conjunction] = self.parts
        for var in variables:
            parts = [part.without(var) for part in parts if not part.is_empty()]
        return Region(parts)

    def substitute(self, values: Mapping[Var, PrimExpr], unknown: bool) -> Region:
        """Replace variables."""
        parts = [part.substitute(values) for part in self.parts]
        if unknown and None in parts:
            return Region.everything()
        return Region(part for part in parts if part is not None)


def _pieces_outside(points: Conjunction, part: Conjunction) -> list[Conjunction]:
    if (points & part).is_empty():
        return [points]
    pieces = (points & Conjunction([LinearForm({}, -1).plus(form, -1)]) for form in part.forms)
    return [piece for piece in pieces if not piece.is_empty()]


def possible_region(condition: PrimExpr) -> Region:
    """Return a region that has all points for which a condition holds."""
    return _region(condition, True, True)


def certain_region(condition: PrimExpr) -> Region:
    """Return a region that has only points for which a condition holds."""
    return _region(condition, True, False)


def _region(e: PrimExpr, truth: bool, unknown: bool) -> Region:
    """Return where ``e`` is ``truth``, or may be if ``unknown``."""
    undecided = Region.everything() if unknown else Region()
    if isinstance(e, expr.IntImm):
        return Region.everything() if bool(e.value) == truth else Region()
    if isinstance(e, expr.Not):
        return _region(e.a, not truth, unknown)
    if isinstance(e, (expr.And, expr.Or)):
        a, b = _region(e.a, truth, unknown), _region(e.b, truth, unknown)
        result = a & b if isinstance(e, expr.And) == truth else a | b
        return undecided if len(result.parts) > MAX_PARTS else result
    if isinstance(e, expr.Call) and getattr(e.op, "name", "") == "tir.likely":
        return _region(e.args[0], truth, unknown)
    if isinstance(e, expr.CmpOp) and is_stable(e):
        try:
            difference = linear_form(e.b).plus(linear_form(e.a), -1)
        except NotLinearError:
            return undecided
        return _COMPARISONS[type(e)](difference, truth)
    return undecided


def _at_least(least: int, form: LinearForm, factor: int) -> Conjunction:
    """Return where ``factor * form >= least``."""
    return Conjunction([LinearForm({}, -least).plus(form, factor)])


def _order(sign: int, strict: int, difference: LinearForm, truth: bool) -> Region:
    """Return what ``sign * (b - a) >= strict`` describes, for ``a < b`` and the like, or its opposite."""
    return Region([_at_least(strict, difference, sign) if truth else _at_least(1 - strict, difference, -sign)])


def _equality(holds: bool, difference: LinearForm, truth: bool) -> Region:
    if truth == holds:
        return Region([Conjunction([difference, -difference])])
    return Region([_at_least(1, difference, 1), _at_least(1, difference, -1)])


_COMPARISONS: dict[type[expr.CmpOp], Callable[[LinearForm, bool], Region]] = {
    expr.LT: partial(_order, 1, 1),
    expr.LE: partial(_order, 1, 0),
    expr.GT: partial(_order, -1, 1),
    expr.GE: partial(_order, -1, 0),
    expr.EQ: partial(_equality, True),
    expr.NE: partial(_equality, False),
}
