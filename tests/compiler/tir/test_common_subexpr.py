"""Subexpressions that occur several times."""

from __future__ import annotations

import pytest

import compiler as tvm
from compiler import tir
from compiler.classic.tir.common_subexpr import detect_common_subexpr
from compiler.ir.expr.primexpr import PrimExpr, Var

x, y, z = Var("x"), Var("y"), Var("z")
A = tir.decl_buffer((8,), "int32", "A")


@pytest.mark.parametrize(
    ("expr", "threshold", "common"),
    [
        ((x + y + z) % 2 + (x + y + z) % 4, 1, {"(x + y + z) % 2 + (x + y + z) % 4": 1}),
        ((x + y + z) % 2 + (x + y + z) % 4, 2, {"x + y + z": 2}),
        ((x + y + z) % 2 + (x + y + z) % 4, 3, {}),
        ((x * y + z) * (x * y + z) + x * y, 2, {"x * y + z": 2}),
        ((x * y + z) * (x * y + z) + x * y, 3, {"x * y": 3}),
        ((x + y) + (x + y) * 2 + (x + y) * 2 * 3, 2, {"(x + y) * 2": 2}),
        (A[x + y] + A[x + y], 1, {"x + y": 2}),
        (tir.exp((x + y).astype("float32")) + (x + y).astype("float32"), 2, {'T.Cast("float32", x + y)': 2}),
        (x + x + x, 2, {}),
    ],
)
def test_the_largest_subexpressions_are_counted(expr: PrimExpr, threshold: int, common: dict[str, int]) -> None:
    assert {str(part): count for part, count in detect_common_subexpr(expr, threshold).items()} == common


def test_a_part_is_a_node_of_the_expression() -> None:
    expr = (x + y) * 2 + (x + y) * 3
    assert expr.a.a in tvm.arith.detect_common_subexpr(expr, 2)


def test_long_sums_need_no_recursion() -> None:
    total: PrimExpr = x
    for _ in range(300):
        total = total + y
    assert detect_common_subexpr(total, 2) == {}
