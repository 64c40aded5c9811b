"""Simplification and bounds on whole ranges of integers, decided by a solver instead of on examples."""

from __future__ import annotations

import pytest
import z3
from hypothesis import given

from compiler.arith import Analyzer
from compiler.ir.expr.axes import Range
from compiler.ir.expr.primexpr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    Div,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExpr,
    Select,
    Sub,
    Var,
)
from tests.compiler.arith.expressions import CONDITIONS, INTEGERS, VARIABLES, examples, written

RANGES = {"x": (0, 1 << 20), "y": (0, 1023), "z": (-(10**6), 10**6), "w": (-7, 10**9)}
"""Bounds of the variables, both ends included: more values than anyone tries."""
LARGEST = (1 << 31) - 1
PATIENCE_MS = 100
"""Products of variables may take any time; what is not decided by then says nothing."""


def floor_quotient(a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
    """The solver's own quotient of integers rounds down where the divisor is positive."""
    return z3.If(b > 0, a / b, -a / -b)


def short_quotient(a: z3.ArithRef, b: z3.ArithRef) -> z3.ArithRef:
    magnitude = z3.If(a >= 0, a, -a) / z3.If(b > 0, b, -b)
    return z3.If((a >= 0) == (b > 0), magnitude, -magnitude)


MEANING = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    Min: lambda a, b: z3.If(a < b, a, b),
    Max: lambda a, b: z3.If(a < b, b, a),
    FloorDiv: floor_quotient,
    FloorMod: lambda a, b: a - b * floor_quotient(a, b),
    Div: short_quotient,
    Mod: lambda a, b: a - b * short_quotient(a, b),
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    And: z3.And,
    Or: z3.Or,
}


class Formula:
    """An expression as the solver reads it, and where it has a value that an int32 holds."""

    def __init__(self, e: PrimExpr) -> None:
        self.defined: list[z3.BoolRef] = []
        self.value = self._read(e)

    def _read(self, e: PrimExpr) -> z3.ExprRef:
        if isinstance(e, IntImm):
            return z3.BoolVal(bool(e.value)) if e.dtype == "bool" else z3.IntVal(e.value)
        if isinstance(e, Var):
            return z3.Int(e.name)
        if isinstance(e, Not):
            return z3.Not(self._read(e.a))
        if isinstance(e, Select):
            return z3.If(self._read(e.condition), self._read(e.true_value), self._read(e.false_value))
        assert isinstance(e, BinaryOp), type(e)
        a, b = self._read(e.a), self._read(e.b)
        if isinstance(e, (FloorDiv, FloorMod, Div, Mod)):
            self.defined.append(b != 0)
        value = MEANING[type(e)](a, b)
        if z3.is_int(value):
            self.defined.append(z3.And(value >= -LARGEST, value <= LARGEST))
        return value


def counterexample(defined: list[z3.BoolRef], claim: z3.BoolRef) -> z3.ModelRef | None:
    """Values within the ranges with which a claim is false; None if there are none, or none was found in time."""
    solver = z3.Solver()
    solver.set("timeout", PATIENCE_MS)
    for name, (low, high) in RANGES.items():
        solver.add(z3.Int(name) >= low, z3.Int(name) <= high)
    solver.add(*defined, z3.Not(claim))
    return solver.model() if solver.check() == z3.sat else None


def bounded() -> Analyzer:
    analyzer = Analyzer()
    for v in VARIABLES:
        low, high = RANGES[v.name]
        analyzer.bind(v, Range(low, high + 1))
    return analyzer


@pytest.mark.parametrize("kind", [FloorDiv, FloorMod, Div, Mod])
def test_the_solver_divides_as_the_language_does(kind: type[BinaryOp]) -> None:
    for a in range(-9, 10):
        for b in [-4, -3, -1, 1, 2, 5]:
            expected = kind.evaluate(a, b)
            assert z3.simplify(MEANING[kind](z3.IntVal(a), z3.IntVal(b))).as_long() == expected, (a, b)


@examples(40)
@given(INTEGERS)
def test_no_integers_tell_an_expression_from_its_simplified_form(e: PrimExpr) -> None:
    before, after = Formula(e), Formula(bounded().simplify(e))
    found = counterexample(before.defined, before.value == after.value)
    assert found is None, f"{written(e)} is not {written(bounded().simplify(e))} at {found}"


@examples(40)
@given(CONDITIONS)
def test_no_integers_tell_a_condition_from_its_simplified_form(e: PrimExpr) -> None:
    before, after = Formula(e), Formula(bounded().simplify(e))
    found = counterexample(before.defined, before.value == after.value)
    assert found is None, f"{written(e)} is not {written(bounded().simplify(e))} at {found}"


@examples(40)
@given(INTEGERS)
def test_no_integers_lie_outside_of_the_interval_and_the_congruence(e: PrimExpr) -> None:
    analyzer, formula = bounded(), Formula(e)
    low, high = analyzer.const_int_bound(e)
    coeff, base = analyzer.modular_set(e)
    congruent = formula.value == base if coeff == 0 else (formula.value - base) % coeff == 0
    found = counterexample(formula.defined, z3.And(formula.value >= low, formula.value <= high, congruent))
    assert found is None, f"{written(e)} is said to be in [{low}, {high}] and {coeff} k + {base}: {found}"
