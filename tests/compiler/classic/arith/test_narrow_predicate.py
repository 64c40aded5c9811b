"""Conditions without some variables: they imply the given ones, whatever these variables are."""

import itertools

import pytest
from hypothesis import given

from compiler import tir
from compiler.classic.arith import narrow_predicate
from compiler.ir.expr.primexpr import And, FloorDiv, FloorMod, IntImm, Max, Min, Mul, Not, Or, Range, Select, Var
from compiler.ir.structural import structural_equal
from tests.compiler.arith.expressions import CONDITIONS, RANGES, VARIABLES, evaluate, examples, well_typed, written

x, y, z, w = VARIABLES
narrow = narrow_predicate.narrow_predicate_expression
FREE = {y: Range(0, 8), z: Range(-9, 10)}


@given(CONDITIONS)
@examples(150)
def test_a_narrowed_condition_implies_the_given_one(e):
    if not well_typed(e):
        return
    narrowed = narrow(e, FREE)
    used = [RANGES[name] for name in "xyzw"]
    for values in itertools.product(*[sorted({low, (low + high) // 2, high}) for low, high in used]):
        at = dict(zip("xyzw", values, strict=True))
        try:
            holds = evaluate(narrowed, {k: at[k] for k in "xw"})
            given_holds = evaluate(e, at)
        except ZeroDivisionError:
            continue
        assert given_holds or not holds, (written(e), written(narrowed), at)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (x < 5, x < 5),
        (And(x < 5, y < x), And(x < 5, IntImm("int32", 7) < x)),
        (x < y, x < 0),
        (x - y < 3, tir.Sub(x, IntImm("int32", 0)) < 3),
        (Not(x < y), Not(x < 7)),
        (Mul(y, IntImm("int32", -2)) < x, Mul(IntImm("int32", 0), IntImm("int32", -2)) < x),
        (FloorDiv(y, IntImm("int32", 2)) < x, FloorDiv(IntImm("int32", 7), IntImm("int32", 2)) < x),
        (Min(x, y) < 5, Min(x, IntImm("int32", 7)) < 5),
        (Max(x, y) > 5, Max(x, IntImm("int32", 0)) > 5),
        (tir.EQ(x, y), And(x <= 0, IntImm("int32", 7) <= x)),
        (tir.NE(x, y), Or(x < 0, IntImm("int32", 7) < x)),
        (FloorMod(y, IntImm("int32", 3)) < x, IntImm("bool", 0)),
        (Not(FloorMod(y, IntImm("int32", 3)) < x), Not(IntImm("bool", 1))),
        (Select(y < 2, x, w) < 3, IntImm("bool", 0)),
    ],
)
def test_narrowed_conditions(condition, expected):
    assert structural_equal(narrow(condition, FREE), expected), narrow(condition, FREE)


def test_ends_of_ranges_may_be_variables():
    n = Var("n")
    assert str(narrow(y < n, {y: Range(0, w)})) == "w - 1 < n"
