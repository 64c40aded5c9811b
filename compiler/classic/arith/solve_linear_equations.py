"""Solving linear equations over the integers, by the Smith normal form.

A system ``A x = b`` becomes ``S y = U b`` with ``S = U A V`` diagonal and ``x = V y``, where ``U`` and ``V`` are
unimodular.  What is left of ``y`` where ``S`` is zero are the new variables.

References
----------
H. J. S. Smith, On systems of linear indeterminate equations and congruences, 1861.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.arith.analyzer import Analyzer
from compiler.arith.int_constraints import (
    IntConstraints,
    IntConstraintsTransform,
    System,
    as_constraints,
    transformed_relations,
    unsatisfiable,
)
from compiler.arith.int_set import IntervalSet
from compiler.arith.interval_arithmetic import eval_set
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir.expr.primexpr import EQ, IntImm, PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import substitute, uses_var

__all__ = ["solve_linear_equations"]

Matrix = list[list[int]]


def solve_linear_equations(
    equations: System, variables: Sequence[Var] | None = None, ranges: Mapping[Var, Range] | None = None
) -> IntConstraintsTransform:
    """Solve the linear equations of a system, or of conditions over variables, for a system of as many as are free.

    Conditions that are not linear equations stay; ``variables`` and ``ranges`` are those of conditions without a
    system.

    Examples
    --------
    ``x + y == 0`` with ``y`` from 0 to 9 becomes ``x = n0, y = -n0`` with ``n0`` from -9 to 0.
    """
    source = as_constraints(equations, variables, ranges)
    if not source.variables:
        return IntConstraintsTransform(source, source, {}, {})
    system, others = _linear_part(source)
    diagonalize(system)
    analyzer = Analyzer()
    for var, domain in source.ranges.items():
        analyzer.bind(var, domain)
    relations, solution = _solve_diagonal(system, analyzer)
    if any(isinstance(relation, IntImm) and not relation.value for relation in relations):
        return unsatisfiable(source)
    return _transform(source, system, solution, relations + others)


class LinearSystem:
    """The equations ``coefficients * variables == right``, and how they are transformed."""

    def __init__(self, coefficients: Matrix, right: list[PrimExpr], variables: Sequence[Var]) -> None:
        self.coefficients = coefficients  # ``S``, a row an equation; diagonal at the end
        self.right = right
        self.size = len(variables)
        # ``V``: the variables in terms of those of the diagonal system
        self.columns = [[int(i == j) for j in range(self.size)] for i in range(self.size)]
        self.inverse: list[PrimExpr] = list(variables)  # the variables of the diagonal system in terms of the variables

    def diagonal(self, i: int) -> int:
        """Return an element of the diagonal, zero where there is none."""
        return self.coefficients[i][i] if i < min(len(self.coefficients), self.size) else 0


def _linear_part(source: IntConstraints) -> tuple[LinearSystem, list[PrimExpr]]:
    """Return the equations with constant coefficients, and all other conditions."""
    coefficients, right, others = [], [], []
    for relation in source.relations:
        linear = detect_linear_equation(relation.a - relation.b, source.variables) if type(relation) is EQ else []
        if linear and all(isinstance(c, IntImm) for c in linear[:-1]):
            coefficients.append([c.value for c in linear[:-1] if isinstance(c, IntImm)])
            right.append(Analyzer().simplify(const(0, linear[-1].dtype) - linear[-1]))
        else:
            others.append(relation)
    return LinearSystem(coefficients, right, source.variables), others


def diagonalize(system: LinearSystem) -> None:
    """Bring a system into diagonal form, in place."""
    at = 0
    while at < min(len(system.coefficients), system.size):
        if not _move_pivot(system, at):
            at += 1
            continue
        _clear_column(system, at)
        if not _clear_row(system, at):  # clearing the row may have filled the column again
            at += 1


def _move_pivot(system: LinearSystem, at: int) -> bool:
    """Move an element that is not zero to the diagonal; return whether there is one."""
    rows = system.coefficients
    candidates = [(abs(rows[i][at]), i) for i in range(at, len(rows)) if rows[i][at]]
    if candidates:
        best = at if rows[at][at] and abs(rows[at][at]) == min(candidates)[0] else min(candidates)[1]
        rows[at], rows[best] = rows[best], rows[at]
        system.right[at], system.right[best] = system.right[best], system.right[at]
        return True
    for j in range(at + 1, system.size):
        if rows[at][j]:
            for row in (*rows, *system.columns):
                row[at], row[j] = row[j], row[at]
            inverse = system.inverse
            inverse[at], inverse[j] = inverse[j], inverse[at]
            return True
    return False


def _clear_column(system: LinearSystem, at: int) -> None:
    rows, right, simplify = system.coefficients, system.right, Analyzer().simplify
    for i in range(at + 1, len(rows)):
        if not rows[i][at]:
            continue
        g, a, b = extended_gcd(rows[at][at], rows[i][at])
        m, n = rows[at][at] // g, rows[i][at] // g
        pairs = list(zip(rows[at], rows[i], strict=True))
        rows[at], rows[i] = [a * x + b * y for x, y in pairs], [n * x - m * y for x, y in pairs]
        upper, lower = right[at], right[i]
        right[at], right[i] = simplify(upper * a + lower * b), simplify(upper * n - lower * m)


def _clear_row(system: LinearSystem, at: int) -> bool:
    """Clear a row right of the diagonal; return whether there was anything to clear."""
    changed = False
    simplify, inverse = Analyzer().simplify, system.inverse
    pivot = system.coefficients[at]
    for j in range(at + 1, system.size):
        if not pivot[j]:
            continue
        g, a, b = extended_gcd(pivot[at], pivot[j])
        m, n = pivot[at] // g, pivot[j] // g
        for row in (*system.coefficients, *system.columns):
            x, y = row[at], row[j]
            row[at], row[j] = a * x + b * y, n * x - m * y
        x_at, x_j = inverse[at], inverse[j]
        inverse[at], inverse[j] = simplify(x_at * m + x_j * n), simplify(x_at * b - x_j * a)
        changed = True
    return changed


def extended_gcd(a: int, b: int) -> tuple[int, int, int]:
    """Return ``g``, the greatest common divisor of two integers, ``x`` and ``y`` with ``a * x + b * y == g``.

    ``g`` may be negative; ``y`` is zero where ``a`` divides ``b``.
    """
    if a == 0:
        return b, 0, 1
    g, x, y = extended_gcd(b % a, a)
    return g, y - b // a * x, x


def _solve_diagonal(system: LinearSystem, analyzer: Analyzer) -> tuple[list[PrimExpr], dict[int, PrimExpr]]:
    """Return the conditions under which a diagonal system has a solution, and the values that it fixes, by column."""
    relations: list[PrimExpr] = []
    values: dict[int, PrimExpr] = {}
    for i, right in enumerate(system.right):
        diagonal = system.diagonal(i)
        if diagonal < 0:
            diagonal, right = -diagonal, analyzer.simplify(right * -1)
        if diagonal == 0:
            relation = analyzer.simplify(right.equal(0))
        else:
            relation = analyzer.simplify((right % diagonal).equal(0))
            values[i] = analyzer.simplify(right // diagonal)
        if not (isinstance(relation, IntImm) and relation.value):
            relations.append(relation)
    return relations, values


def _transform(
    source: IntConstraints, system: LinearSystem, fixed: dict[int, PrimExpr], relations: list[PrimExpr]
) -> IntConstraintsTransform:
    analyzer = Analyzer()
    dtype = source.variables[0].dtype
    free = [i for i in range(system.size) if i not in fixed]
    new = [Var(f"n{i}", dtype) for i in range(len(free))]
    values = fixed | dict(zip(free, new, strict=True))
    dst_to_src = {var: analyzer.simplify(system.inverse[i]) for i, var in zip(free, new, strict=True)}
    ranges = _ranges(source, dst_to_src, analyzer)
    parameters = {var: domain for var, domain in source.ranges.items() if var not in source.variables}
    for var, domain in (ranges | parameters).items():
        analyzer.bind(var, domain, override=True)
    src_to_dst = {}
    for var, row in zip(source.variables, system.columns, strict=True):
        parts = [values[i] * factor for i, factor in enumerate(row) if factor]
        parts = [part for part in parts if not (isinstance(part, IntImm) and part.value == 0)]
        value = sum(parts[1:], parts[0]) if parts else const(0, dtype)
        src_to_dst[var] = value if len(parts) == 1 else analyzer.simplify(value)
    conditions = transformed_relations(source, src_to_dst, analyzer)
    for relation in relations:
        condition = analyzer.simplify(substitute(relation, src_to_dst))
        if isinstance(condition, IntImm) and not condition.value:
            return unsatisfiable(source)
        if not isinstance(condition, IntImm):
            conditions.append(condition)
    target = IntConstraints(tuple(new), ranges, tuple(conditions))
    return IntConstraintsTransform(source, target, src_to_dst, dst_to_src)


def _ranges(source: IntConstraints, dst_to_src: Mapping[Var, PrimExpr], analyzer: Analyzer) -> dict[Var, Range]:
    """Return the ranges of new variables that follow from those of the old ones."""
    domains = {var: domain for var, domain in source.ranges.items() if var in source.variables}
    ranges = {}
    for var, value in dst_to_src.items():
        covered: IntervalSet = eval_set(value, domains)
        is_open = any(uses_var(end, lambda v: v in source.variables) for end in (covered.min_value, covered.max_value))
        if covered.is_bounded() and not is_open:
            extent = analyzer.simplify(covered.max_value - covered.min_value + 1)
            ranges[var] = Range.from_min_extent(analyzer.simplify(covered.min_value), extent)
    return ranges
