"""Conditions of branches: truth values, and integers as in C."""

from __future__ import annotations

import pytest

from compiler import tir
from compiler.ir.error import DTypeError
from compiler.ir.expr.primexpr import NE, IntImm, Var

NOTHING = tir.Evaluate(0)


def test_an_integer_holds_where_it_is_not_zero() -> None:
    count = Var("count", "int64")
    for branch in (tir.IfThenElse(count, NOTHING), tir.While(count, NOTHING)):
        assert isinstance(branch.condition, NE)
        assert (branch.condition.a, str(branch.condition)) == (count, "count != T.int64(0)")


@pytest.mark.parametrize(("number", "truth"), [(0, False), (7, True)])
def test_a_number_is_a_truth_value(number: int, truth: bool) -> None:
    condition = tir.IfThenElse(IntImm("int32", number), NOTHING).condition
    assert (condition.dtype, bool(condition.value)) == ("bool", truth)


def test_floats_are_no_conditions() -> None:
    with pytest.raises(DTypeError, match="condition must be of type bool, got float32"):
        tir.IfThenElse(Var("x", "float32"), NOTHING)
