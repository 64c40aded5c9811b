"""Simplify's options for conditions, each against every value of the variables."""

from __future__ import annotations

import itertools
import random

import pytest

from compiler.arith.and_of_ors import MAX_CLAUSES, and_of_ors
from compiler.ir.expr.primexpr import And, IntImm, Or, PrimExpr, Var
from compiler.ir.expr.substitute import substitute
from compiler.ir.module import IRModule
from compiler.ir.structural import structural_equal
from compiler.tir import Evaluate, PrimFunc
from compiler.tir.transform.simplify import Simplify

i, j, k, n, m = (Var(name) for name in "ijknm")


def simplified(condition: PrimExpr, **options: bool) -> PrimExpr:
    func = PrimFunc((i, j, k, n, m), Evaluate(condition))
    result: PrimExpr = Simplify(**options)(IRModule({"main": func}))["main"].body.value
    return result


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (And(n < m + 5, n < m + 10), n < m + 5),
        (And(n < m + 10, n < m + 5), n < m + 5),
        (Or(n < m + 10, n < m + 5), n < m + 10),
        (Or(n < m + 5, n < m + 10), n < m + 10),
    ],
)
def test_the_weaker_comparison_goes(condition: PrimExpr, expected: PrimExpr) -> None:
    assert structural_equal(simplified(condition, apply_constraints_to_boolean_branches=True), expected)


def test_conjunctions_of_disjunctions() -> None:
    condition = Or(i.equal(0), And(j.equal(1), k.equal(2)))
    expected = And(Or(i.equal(0), j.equal(1)), Or(i.equal(0), k.equal(2)))
    assert structural_equal(simplified(condition, convert_boolean_to_and_of_ors=True), expected)
    assert structural_equal(simplified(condition), condition)


def test_the_number_of_clauses_is_bounded() -> None:
    condition: PrimExpr = And(i < 1, j < 1)
    for number in range(2, 12):
        condition = Or(condition, And(i < number, j < number))
    assert MAX_CLAUSES < 2**11
    assert and_of_ors(condition, lambda e: e) is condition


def _random(choose: random.Random, depth: int) -> PrimExpr:
    if depth == 0:
        a, b = choose.sample([i, j, k, IntImm("int32", choose.randint(-1, 3))], 2)
        return choose.choice([a < b, a <= b, a.equal(b), a != b + 1, a >= b])
    kind = choose.choice([And, Or])
    return kind(_random(choose, depth - 1), _random(choose, depth - 1))


@pytest.mark.parametrize("seed", [1, 2, 3, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 11))])
def test_conditions_keep_their_values(seed: int) -> None:
    condition = _random(random.Random(seed), 3)
    forms = [
        simplified(condition, convert_boolean_to_and_of_ors=c, apply_constraints_to_boolean_branches=a)
        for c, a in itertools.product([False, True], repeat=2)
    ]
    for values in itertools.product(range(-2, 4), repeat=3):
        at = {var: IntImm("int32", v) for var, v in zip((i, j, k), values, strict=True)}
        truths = {simplified(substitute(form, at)).value for form in [condition, *forms]}  # type: ignore[attr-defined]
        assert len(truths) == 1, (str(condition), [str(f) for f in forms], values)
