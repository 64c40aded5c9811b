"""What an analyzer is told, and what it says of its work."""

import itertools
from functools import reduce

import pytest

import compiler as tvm
from compiler import tir
from compiler.ir.error import ArgumentError


def test_what_is_known_is_not_replaced_unasked():
    analyzer, x = tvm.arith.Analyzer(), tir.Var("x", "int32")
    analyzer.update(x, tvm.arith.ConstIntBound(0, 10))
    analyzer.update(x, tvm.arith.ConstIntBound(0, 5), override=True)
    assert analyzer.const_int_bound(x).max_value == 5
    analyzer.update(x, tvm.arith.ModularSet(3, 1))
    for info in (tvm.arith.ConstIntBound(0, 3), tvm.arith.ModularSet(4, 1)):
        with pytest.raises(ArgumentError, match="pass override=True to replace it"):
            analyzer.update(x, info)


def test_the_simplifier_counts_what_it_does():
    analyzer, x = tvm.arith.Analyzer(), tir.Var("x", "int32")
    assert analyzer.rewrite_simplify_stats.nodes_visited == 0
    analyzer.rewrite_simplify((x + 3) * 2 < x * 2)
    with analyzer.constraint_scope(x > 3):
        stats = analyzer.rewrite_simplify_stats
    assert stats.nodes_visited >= stats.rewrites_performed > 0
    assert stats.constraints_entered == 1
    analyzer.reset_rewrite_simplify_stats()
    assert analyzer.rewrite_simplify_stats.nodes_visited == 0


def test_remainders_that_are_known_are_simplified():
    analyzer, x, y = tvm.arith.Analyzer(), tir.Var("x", "int32"), tir.Var("y", "int32")
    with analyzer.constraint_scope((x % 4).equal(0)):
        for expr, value in ((x % 4, 0), (x % 2, 0), ((x + y * 4) % 4, 0), ((x + 1) % 4, 1), (x * 2 % 8, 0)):
            tvm.ir.assert_structural_equal(analyzer.simplify(expr), tir.const(value, "int32"))
        tvm.ir.assert_structural_equal(analyzer.simplify(x // 4 * 4 - x), tir.const(0, "int32"))
    tvm.ir.assert_structural_equal(analyzer.simplify(x % 4), x % 4)


def test_numbers_that_are_rounded_down_lie_below():
    analyzer, x = tvm.arith.Analyzer(), tir.Var("x", "int32")
    for condition in (x // 4 * 4 <= x, x // 4 * 4 < x + 1, x < x // 4 * 4 + 4, x < (x // 4 + 1) * 4):
        tvm.ir.assert_structural_equal(analyzer.simplify(condition), tir.const(True, "bool"))
        assert analyzer.can_prove(condition)
    assert not analyzer.can_prove(x // 4 * 4 < x)
    tvm.ir.assert_structural_equal(analyzer.simplify(x - x // 4 * 4), x % 4)
    tvm.ir.assert_structural_equal(analyzer.simplify(x // 4 * 4 - x), 0 - x % 4)


@pytest.mark.parametrize(
    ("most_x", "most_y", "limit", "known"),
    [
        (2048, None, 2048, True),
        (2049, None, 2048, False),
        (4095, 4095, 2048, True),
        (4095, 8191, 2048, False),
        (None, None, 2048, False),
    ],
)
def test_a_product_is_compared_with_a_sum_on_request(most_x, most_y, limit, known):
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    analyzer = tvm.arith.Analyzer()
    for var, most in ((x, most_x), (y, most_y)):
        analyzer.update(var, tvm.arith.ConstIntBound(1, tvm.arith.ConstIntBound.POS_INF if most is None else most))
    comparison = x * y < (y + x) * limit
    assert not analyzer.can_prove(comparison)
    analyzer.enabled_extensions = tvm.arith.Extension.ComparisonOfProductAndSum
    simplified = analyzer.rewrite_simplify(comparison)
    assert (isinstance(simplified, tir.IntImm) and simplified.value == 1) == known


X, Y, Z = (tir.Var(name, "int32") for name in "xyz")
P, Q, R = (tir.Var(name, "bool") for name in "pqr")


@pytest.mark.parametrize(
    ("extension", "condition", "expected"),
    [
        ("ConvertBooleanToAndOfOrs", tir.Or(tir.And(P, Q), R), tir.And(tir.Or(P, R), tir.Or(Q, R))),
        ("ConvertBooleanToAndOfOrs", tir.And(tir.Or(X == 2, Y == 3), tir.Or(X != 2, Y == 3)), Y == 3),
        ("ConvertBooleanToAndOfOrs", tir.Or(tir.And(X < 5, Y < 5), tir.And(X < 5, Y >= 5)), X < 5),
        ("ConvertBooleanToAndOfOrs", tir.Or(tir.And(X < 5, P), X >= 5), tir.Or(P, tir.LE(5, X))),
        ("ApplyConstraintsToBooleanBranches", tir.And(X > 9, tir.Or(X > 5, Y < 2)), tir.LT(9, X)),
        ("ApplyConstraintsToBooleanBranches", tir.And(X != 0, tir.Or(X == 0, Y == 0)), tir.And(X != 0, Y == 0)),
        ("ApplyConstraintsToBooleanBranches", tir.And(X % 4 == 0, X % 2 == 0), X % 4 == 0),
        ("ApplyConstraintsToBooleanBranches", tir.Or(X == Y, tir.And(X != Y, Y < 3)), tir.Or(X == Y, Y < 3)),
    ],
)
def test_conditions_are_rewritten_on_request(extension, condition, expected):
    analyzer = tvm.arith.Analyzer()
    tvm.ir.assert_structural_equal(
        analyzer.rewrite_simplify(condition), tvm.arith.Analyzer().rewrite_simplify(condition)
    )
    assert not tvm.ir.structural_equal(analyzer.rewrite_simplify(condition), expected)
    analyzer.enabled_extensions = getattr(tvm.arith.Extension, extension)
    tvm.ir.assert_structural_equal(analyzer.rewrite_simplify(condition), expected)
    tvm.ir.assert_structural_equal(analyzer.rewrite_simplify(tir.Select(condition, X, Y)).condition, expected)


@pytest.mark.parametrize(
    "condition",
    [
        reduce(tir.Or, [tir.And(tir.Var(f"a{i}", "bool"), tir.Var(f"b{i}", "bool")) for i in range(7)]),  # 128 clauses
        tir.And(tir.Or(X < 3, P), tir.Or(X < 5, Q)),
        tir.And(tir.Or(tir.Or(X < 3, P), Q), tir.Or(X < 5, Q)),
        tir.And(tir.Or(X < 3, Q), tir.Or(tir.Or(X < 5, P), Q)),
    ],
)
def test_conditions_that_stay_as_they_are(condition):
    """Too many disjunctions are not made; those that differ by more than one literal are not merged."""
    analyzer = tvm.arith.Analyzer()
    analyzer.enabled_extensions = tvm.arith.Extension.ConvertBooleanToAndOfOrs
    tvm.ir.assert_structural_equal(analyzer.rewrite_simplify(condition), condition)


def test_what_is_written_the_same_is_equal():
    handle, f = tir.Var("handle", "handle"), tir.Var("f", "float32")
    analyzer = tvm.arith.Analyzer()
    assert analyzer.can_prove_equal(handle, handle)
    assert analyzer.can_prove_equal(f + 1.0, f + 1.0)
    assert not analyzer.can_prove_equal(f + 1.0, f + 2.0)
    assert not analyzer.can_prove_equal(X, tir.Var("long", "int64"))
    assert analyzer.can_prove(tir.EQ(f, f) | (X < 3)) is False, "what is no number does not equal itself"


def test_a_condition_that_reads_memory_keeps_its_guard():
    analyzer = tvm.arith.Analyzer()
    analyzer.enabled_extensions = tvm.arith.Extension.ApplyConstraintsToBooleanBranches
    table = tir.decl_buffer((8,), "int32")
    guarded = tir.And(X < 8, tir.BufferLoad(table, [X]) > 3)
    tvm.ir.assert_structural_equal(analyzer.rewrite_simplify(guarded), tvm.arith.Analyzer().rewrite_simplify(guarded))


def test_a_product_is_less_than_a_sum_just_where_it_is_for_all_values() -> None:
    """Where the rule says so; it says so of the largest factors that still hold at the ends of the ranges."""
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    for x_high, y_high, x_low in itertools.product((1, 2, 3), (1, 3, 4), (0, 1, 2)):
        analyzer = tvm.arith.Analyzer()
        analyzer.enabled_extensions = tvm.arith.Extension.ComparisonOfProductAndSum
        analyzer.update(x, tvm.arith.ConstIntBound(x_low, x_low + x_high))
        analyzer.update(y, tvm.arith.ConstIntBound(1, y_high))
        points = list(itertools.product(range(x_low, x_low + x_high + 1), range(1, y_high + 1)))
        for c1, c2 in itertools.product((-1, 1, 2, 3), (-1, 1, 2, 3, 4)):
            holds = all(a * b * c1 < (a + b) * c2 for a, b in points)
            proved = analyzer.can_prove(x * y * c1 < (x + y) * c2)
            assert holds or not proved, (c1, c2, points)
            if x_low and c1 > 0:
                assert proved == holds, (c1, c2, points)
        assert not analyzer.can_prove(x * y < x + x) or all(a * b < a + a for a, b in points)


def test_choices_that_all_lanes_make_alike_are_made() -> None:
    ramp, other = tir.Ramp(tir.const(0), 1, 4), tir.Broadcast(tir.const(7), 4)
    for value, chosen in ((True, ramp), (False, other)):
        choice = tir.Select(tir.Broadcast(tir.const(value, "bool"), 4), ramp, other)
        tvm.ir.assert_structural_equal(tvm.arith.Analyzer().rewrite_simplify(choice), chosen)
