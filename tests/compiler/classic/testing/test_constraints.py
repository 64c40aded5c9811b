"""Conditions are proved, or tried for all values."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from compiler import tir
from compiler.classic import testing
from compiler.ir.expr.primexpr import Range


def test_equality_is_proved() -> None:
    x = tir.Var("x", "int32")
    testing.assert_prim_expr_equal(x * 2 + x, x * 3)
    with pytest.raises(AssertionError, match="not proved"):
        testing.assert_prim_expr_equal(x * 2, x * 3)


def test_all_values_are_tried() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    ranges = {x: Range(0, 4), y: Range(-2, 3)}
    testing.check_bool_expr_is_true(x + y < 6, ranges)
    testing.check_bool_expr_is_true(x + y < 5, ranges, cond=x < 3)
    with pytest.raises(AssertionError, match="x = 3, y = 2"):
        testing.check_bool_expr_is_true(x + y < 5, ranges)


@pytest.mark.parametrize("shift", [1, 2])
def test_transformations_are_checked_both_ways(shift: int) -> None:
    x, z = tir.Var("x", "int32"), tir.Var("z", "int32")
    src = SimpleNamespace(variables=[x], ranges={x: Range(0, 8)}, relations=[x < 5])
    dst = SimpleNamespace(variables=[z], ranges={z: Range(1, 6)}, relations=[])
    transformation = SimpleNamespace(src=src, dst=dst, src_to_dst={x: z - shift}, dst_to_src={z: x + 1})
    if shift == 1:
        testing.check_int_constraints_trans_consistency(transformation)
    else:
        with pytest.raises(AssertionError):
            testing.check_int_constraints_trans_consistency(transformation)
