"""Linear equations and inequalities over the integers, against all values of their variables."""

from __future__ import annotations

import itertools
import random

import pytest

import compiler.tir  # noqa: F401  (which writes expressions)
from compiler.arith import Analyzer, IntConstraints, IntConstraintsTransform
from compiler.classic.arith.solve_linear_equations import extended_gcd, solve_linear_equations
from compiler.classic.arith.solve_linear_inequalities import solve_inequalities_as_condition, solve_linear_inequalities
from compiler.classic.testing.constraints import check_int_constraints_trans_consistency
from compiler.ir.expr.primexpr import EQ, GE, GT, LE, LT, IntImm, PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import substitute


def random_system(rng: random.Random, kinds: list[type[PrimExpr]]) -> tuple[list[Var], list[PrimExpr]]:
    variables = [Var(f"x{i}") for i in range(rng.choice([1, 2, 3]))]
    relations = []
    for _ in range(rng.choice([1, 2, 3])):
        sides = []
        for _ in range(2):
            side: PrimExpr = const(rng.randint(-5, 5))
            for var in variables:
                side = side + var * rng.randint(-3, 3)
            sides.append(side)
        relations.append(rng.choice(kinds)(*sides))
    return variables, relations


def holds(relations: list[PrimExpr], at: dict[Var, int]) -> bool:
    values = {var: const(v) for var, v in at.items()}
    results = [Analyzer().simplify(substitute(relation, values)) for relation in relations]
    assert all(isinstance(result, IntImm) for result in results)
    return all(bool(result) for result in results)


@pytest.mark.parametrize("seed", range(20))
def test_equations(seed: int) -> None:
    rng = random.Random(seed)
    variables, relations = random_system(rng, [EQ, EQ, EQ, LE, LT, GE, GT])
    ranges = {var: Range(-4, 5) for var in variables}
    check_int_constraints_trans_consistency(solve_linear_equations(relations, variables, ranges))


@pytest.mark.parametrize("seed", range(20))
def test_inequalities(seed: int) -> None:
    variables, relations = random_system(random.Random(seed), [EQ, LE, LT, GE, GT])
    ranges = {var: Range(-4, 5) for var in variables}
    solved = solve_inequalities_as_condition(variables, ranges, relations)
    for values in itertools.product(range(-4, 5), repeat=len(variables)):
        at = dict(zip(variables, values, strict=True))
        assert holds(relations, at) == holds(solved, at), (relations, solved, at)
    transform = solve_linear_inequalities(relations, variables, ranges, deskew_range=True)
    assert isinstance(transform, IntConstraintsTransform)
    check_int_constraints_trans_consistency(transform)


def test_solutions_are_written_out() -> None:
    x, y = Var("x"), Var("y")
    unique = solve_linear_equations([EQ(x + y, 20), EQ(x - y, 10)], [x, y])
    assert {var.name: str(e) for var, e in unique.src_to_dst.items()} == {"x": "15", "y": "5"}
    bounded = solve_linear_inequalities([LE(x + y, 20), GE(x - y, 10)], [x, y], {x: Range(-9, 99), y: Range(0, 10)})
    assert isinstance(bounded, IntConstraints)
    assert {var.name: str(r.extent) for var, r in bounded.ranges.items()} == {"x": "11", "y": "6"}
    nothing = solve_linear_equations([EQ(x + y, 0), EQ(x - y, 0), EQ(x, 5)], [x, y])
    assert [str(relation) for relation in nothing.dst.relations] == ["T.bool(False)"]


def test_what_cannot_hold_has_no_solution() -> None:
    """Bounds that cross, a condition that is false, and one that only turns out to be after the others are solved."""
    x, y, n = Var("x"), Var("y"), Var("n")
    for relations in (
        [GE(x, 3), LE(x, 2)],
        [const(False, "bool"), LE(x, 2)],
        [LE(x, 2), GE(x, 2), x.equal(y), y.equal(3)],
        [GE(x, n + 1), LE(x, n)],
    ):
        condition = solve_inequalities_as_condition([x, y], {}, relations)
        assert not holds(condition, {x: 2, y: 3, n: 1}), (relations, condition)
    system = solve_linear_inequalities([const(False, "bool"), LE(x, 2)], [x], {x: Range(0, 9)})
    assert [str(relation) for relation in system.relations] == ["T.bool(False)"]


def test_extended_gcd() -> None:
    for a, b in itertools.product(range(-9, 10), repeat=2):
        g, x, y = extended_gcd(a, b)
        assert a * x + b * y == g
        assert (g == 0 and a == b == 0) or (a % g == 0 and b % g == 0)


def test_a_system_is_written_with_its_ranges_and_conditions() -> None:
    x, y = Var("x"), Var("y")
    system = IntConstraints([x], {x: Range(0, 10)}, [x <= y])
    assert str(system) == "IntConstraints([x], {x: I.Range(0, 10)}, [x <= y])"
