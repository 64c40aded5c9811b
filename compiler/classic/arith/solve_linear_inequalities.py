"""Solving linear inequalities over the integers, by eliminating one variable after the other.

References
----------
J. J. Fourier, 1826, and T. S. Motzkin, 1936: of all lower and upper bounds of a variable, each lower one is at most
each upper one, which is all that they say about the other variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from compiler.arith.analyzer import Analyzer
from compiler.arith.deep_equal import deep_equal
from compiler.arith.int_constraints import (
    IntConstraints,
    IntConstraintsTransform,
    IntGroupBounds,
    System,
    as_constraints,
    unsatisfiable,
)
from compiler.arith.interval_arithmetic import eval_set
from compiler.arith.linear.detect_linear_equation import linear_in
from compiler.ir.expr.primexpr import EQ, GE, GT, LE, LT, IntImm, PrimExpr, Range, Var, const, convert
from compiler.ir.expr.substitute import substitute

__all__ = ["solve_inequalities_as_condition", "solve_linear_inequalities"]

Bounds = dict[Var, IntGroupBounds]
Ranges = Mapping[Var, Range]
_Order = Callable[[PrimExpr, PrimExpr], bool]


class _NoSolution(Exception):
    """The inequalities contradict each other."""


def solve_inequalities_as_condition(
    variables: Sequence[Var], ranges: Ranges, inequalities: Sequence[PrimExpr]
) -> list[PrimExpr]:
    """Solve inequalities for one variable after the other; the bounds of each one use later ones only.

    Examples
    --------
    ``x + y <= 20`` and ``x - y >= 10`` with ``y`` from 0 on become ``x >= y + 10``, ``x <= 20 - y``, ``y >= 0`` and
    ``y <= 5``.
    """
    source = IntConstraints(tuple(variables), dict(ranges), tuple(inequalities))
    try:
        bounds, others = _eliminate(source)
    except _NoSolution:
        return [const(False)]
    return [condition for var in variables for condition in bounds[var].conditions(var)] + others


def solve_linear_inequalities(
    equations: System, variables: Sequence[Var] | None = None, ranges: Ranges | None = None, deskew_range: bool = False
) -> IntConstraints | IntConstraintsTransform:
    """Find the ranges of variables from inequalities, those of a system or of conditions over variables.

    The range of a variable uses later variables only; what the ranges do not say stays among the relations.  With
    ``deskew_range``, the variables are replaced by others whose ranges begin at 0.
    """
    source = as_constraints(equations, variables, ranges)
    try:
        solution = _Solution(source, *_eliminate(source))
        return solution.deskewed() if deskew_range else solution.constraints()
    except _NoSolution:
        nothing = unsatisfiable(source)
        return nothing if deskew_range else nothing.dst


# Elimination


def _eliminate(source: IntConstraints) -> tuple[Bounds, list[PrimExpr]]:
    """Return the bounds of each variable, and the conditions that are not linear in them."""
    analyzer = Analyzer()
    for var, domain in source.ranges.items():
        analyzer.bind(var, domain)
    sums = _Sums()
    others: list[PrimExpr] = []
    for relation in source.relations:
        differences = list(_not_positive(relation))
        if not differences:
            others.append(relation)
        for difference in differences:
            sums.add(analyzer.simplify(difference))
    bounds: Bounds = {}
    for var in source.variables:
        if var in source.ranges:
            domain = source.ranges[var]
            sums.add(Analyzer().simplify(domain.min - var))
            sums.add(Analyzer().simplify(var - (domain.min + domain.extent - 1)))
        bounds[var], sums = _eliminate_variable(var, sums, others, analyzer)
    return bounds, others + [LE(difference, const(0, difference.dtype)) for difference in sums.items]


def _not_positive(relation: PrimExpr) -> Iterator[PrimExpr]:
    """Yield what a comparison says is at most zero."""
    if isinstance(relation, IntImm):
        if not relation.value:
            raise _NoSolution
        yield const(0)
    elif isinstance(relation, (LE, LT, EQ, GE, GT)):
        if isinstance(relation, (LE, LT, EQ)):
            yield relation.a - relation.b + (1 if isinstance(relation, LT) else 0)
        if isinstance(relation, (GE, GT, EQ)):
            yield relation.b - relation.a + (1 if isinstance(relation, GT) else 0)


class _Sums:
    """Expressions that are at most zero, each one once."""

    def __init__(self) -> None:
        self.items: list[PrimExpr] = []

    def add(self, e: PrimExpr) -> None:
        """Add an expression; raises an error if it cannot be at most zero."""
        if isinstance(e, IntImm):
            if e.value > 0:
                raise _NoSolution
        elif not any(deep_equal(e, item) for item in self.items):
            self.items.append(e)


def _eliminate_variable(
    var: Var, sums: _Sums, others: list[PrimExpr], analyzer: Analyzer
) -> tuple[IntGroupBounds, _Sums]:
    """Return the bounds of a variable, and what is left without it."""
    rest = _Sums()
    lower: list[tuple[int, PrimExpr]] = []
    upper: list[tuple[int, PrimExpr]] = []
    for e in sums.items:
        linear = linear_in(e, var)
        if linear is None or not isinstance(linear[0], IntImm):
            others.append(LE(e, const(0, e.dtype)))
            continue
        factor, base = linear[0].value, analyzer.simplify(linear[1])
        if factor == 0:
            rest.add(e)
        elif factor > 0:
            upper.append(_tightened(factor, analyzer.simplify(base * -1), 0))
        else:
            lower.append(_tightened(-factor, base, -factor - 1))
    for a, low in lower:
        for b, high in upper:
            common = math.gcd(a, b)
            rest.add(analyzer.simplify(low * (b // common) - high * (a // common)))
    return _group(lower, upper, analyzer), rest


def _tightened(factor: int, bound: PrimExpr, round_up: int) -> tuple[int, PrimExpr]:
    """Divide a constant bound of a multiple by the factor."""
    if isinstance(bound, IntImm):
        return 1, const((bound.value + round_up) // factor, bound.dtype)
    return factor, bound


def _group(lower: list[tuple[int, PrimExpr]], upper: list[tuple[int, PrimExpr]], analyzer: Analyzer) -> IntGroupBounds:
    factor = math.lcm(*[f for f, _ in (*lower, *upper)])
    low = _strongest([analyzer.simplify(e * (factor // f)) for f, e in lower], lambda a, b: analyzer.can_prove(a <= b))
    high = _strongest([analyzer.simplify(e * (factor // f)) for f, e in upper], lambda a, b: analyzer.can_prove(a >= b))
    equal = [e for e in low if any(analyzer.can_prove_equal(e, other) for other in high)]
    is_equal = [id(e) for e in equal]
    return IntGroupBounds(
        convert(factor),
        tuple(e for e in low if id(e) not in is_equal),
        tuple(equal),
        tuple(e for e in high if not any(analyzer.can_prove_equal(e, other) for other in equal)),
    )


def _strongest(bounds: list[PrimExpr], is_weaker: _Order) -> list[PrimExpr]:
    """Return the bounds that no other one implies."""
    result: list[PrimExpr] = []
    for bound in bounds:
        if any(is_weaker(bound, other) for other in result):
            continue
        result = [other for other in result if not is_weaker(other, bound)]
        result.append(bound)
    return result


# Ranges


class _Solution:
    """Ranges of variables, from the last one, which uses no other, to the first."""

    def __init__(self, source: IntConstraints, bounds: Bounds, others: list[PrimExpr]) -> None:
        self._source = source
        self._bounds = bounds
        self._others = others
        self._analyzer = Analyzer()
        self._parameters = {var: domain for var, domain in source.ranges.items() if var not in source.variables}
        for var, domain in self._parameters.items():
            self._analyzer.bind(var, domain)
        self._ranges: dict[Var, Range] = {}
        for var in reversed(source.variables):
            best = self._best_range(bounds[var])
            if best is not None:
                self._ranges[var] = best
                self._analyzer.bind(var, best, override=True)

    def _best_range(self, bounds: IntGroupBounds) -> Range | None:
        """Return the shortest range that the bounds tell, None if there is no such bound."""
        simplify, factor = self._analyzer.simplify, bounds.coef
        lower = [simplify((e + (factor - 1)) // factor) for e in (*bounds.equal, *bounds.lower)]
        upper = [simplify(e // factor) for e in (*bounds.equal, *bounds.upper)]
        best: Range | None = None
        for low in lower:
            for high in upper:
                longest = eval_set(simplify(high - low + 1), {**self._parameters, **self._ranges}).max_value
                if not isinstance(longest, IntImm):
                    continue
                if longest.value <= 0:
                    raise _NoSolution
                candidate = Range.from_min_extent(low, longest)
                if best is None or _rank(candidate) < _rank(best):
                    best = candidate
        return best

    def _relations(self, values: Mapping[Var, PrimExpr], analyzer: Analyzer) -> list[PrimExpr]:
        """Return the conditions, in terms of ``values``, that the ranges do not say."""
        conditions = [c for var in self._source.variables for c in self._bounds[var].conditions(var)]
        relations: list[PrimExpr] = []
        for condition in conditions:
            relation = analyzer.simplify(substitute(condition, values)) if values else condition
            if not analyzer.can_prove(relation):
                relations.append(relation)
        for condition in self._others:
            relation = analyzer.simplify(substitute(condition, values)) if values else condition
            if isinstance(relation, IntImm) and not relation.value:
                raise _NoSolution
            if not isinstance(relation, IntImm):
                relations.append(relation)
        return relations

    def constraints(self) -> IntConstraints:
        """Return the system with the ranges found."""
        variables = self._source.variables
        ranges = {var: self._ranges[var] for var in variables if var in self._ranges}
        return IntConstraints(variables, ranges, tuple(self._relations({}, self._analyzer)))

    def deskewed(self) -> IntConstraintsTransform:
        """Return the system in variables whose ranges begin at 0."""
        src_to_dst: dict[Var, PrimExpr] = {}
        dst_to_src: dict[Var, PrimExpr] = {}
        ranges: dict[Var, Range] = {}
        analyzer = Analyzer()
        for var, domain in self._parameters.items():
            analyzer.bind(var, domain)
        for var in reversed(self._source.variables):
            solved = self._ranges.get(var)
            if solved is None:
                src_to_dst[var] = dst_to_src[var] = var
                continue
            low = substitute(solved.min, src_to_dst)
            if isinstance(solved.extent, IntImm) and solved.extent.value == 1:
                src_to_dst[var] = analyzer.simplify(low)
                continue
            new = Var(f"{var.name}.shifted", var.dtype)
            src_to_dst[var] = new + low
            dst_to_src[new] = self._analyzer.canonical_simplify(var - solved.min)
            ranges[new] = Range.from_min_extent(const(0, var.dtype), solved.extent)
            analyzer.bind(new, ranges[new])
        relations = self._relations(src_to_dst, analyzer)
        target = IntConstraints(tuple(reversed(dst_to_src)), ranges, tuple(relations))
        return IntConstraintsTransform(self._source, target, src_to_dst, dst_to_src)


def _rank(domain: Range) -> tuple[int, bool]:
    assert isinstance(domain.extent, IntImm)
    return domain.extent.value, not isinstance(domain.min, IntImm)
