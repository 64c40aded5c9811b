"""Where each rule ends: the last input that it holds for, and the first one that it does not."""

from __future__ import annotations

import pytest

from compiler.arith import Analyzer, ModularSet
from compiler.arith.const_int_bound import ConstIntBoundAnalyzer
from compiler.arith.deep_equal import deep_equal
from compiler.arith.facts import is_stable
from compiler.arith.overflow import is_loaded, may_overflow_after
from compiler.ir.expr.primexpr import (
    Broadcast,
    Cast,
    Div,
    FloorDiv,
    IntImm,
    Max,
    Min,
    Or,
    PrimExpr,
    Ramp,
    Range,
    Var,
    const,
)
from compiler.tir.expressions.math import exp
from compiler.tir.expressions.op import call_extern, if_then_else, likely, truncdiv, truncmod
from compiler.tir.statements.decl_buffer import decl_buffer

x, y, z, n, m = (Var(name) for name in "xyznm")
f, g = Var("f", "float32"), Var("g", "float32")
big = Var("big", "int64")
a, b = (decl_buffer((4,), "int32", name=name)[const(0)] for name in "AB")
small = Cast("int32", decl_buffer((4,), "int8", name="D")[const(0)])
MOST, LEAST = (1 << 31) - 1, -(1 << 31)


def analyzer() -> Analyzer:
    """Return what knows ``0 <= x < 16``, ``0 <= y < 8`` and ``-9 <= z <= 9``, and of ``n`` and loads nothing."""
    result = Analyzer()
    for var, low, high in ((x, 0, 15), (y, 0, 7), (z, -9, 9)):
        result.bind(var, Range(low, high + 1))
    return result


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # a negative scale does not divide a divisor
        (z * -1 // 6, "(0 - z) // 6"),
        ((0 - z) % 8, "(0 - z) % 8"),
        # two roundings of one number
        (truncdiv(n * 2, 8), "T.Div(n, 4)"),
        (truncdiv(n % 3, 2), "n % 3 // 2"),
        (truncdiv(n, 4) // 2, "T.Div(n, 4) // 2"),
        (truncdiv(n, 32) % 3, "T.Div(n, 32) % 3"),
        (n // 5 % 3, "n % 15 // 5"),
        (n // 4 + truncdiv(n, 4), "n // 4 + T.Div(n, 4)"),
        (n // 4 * 4 + truncmod(n, 4), "n // 4 * 4 + T.truncmod(n, 4)"),
        (truncdiv(n, 4) * 4 + truncmod(n, 4) + n, "n * 2"),
        # sides of a comparison
        (n > x * -4, "0 < x * 4 + n"),
        (z - 1 > 0, "1 < z"),
        (x - (n - 1) > 0, "0 < x + 1 - n"),
        # what memory holds may be at the end of its type
        ((a - 3) % 4, "(A[0] - 3) % 4"),
        ((a + 32) % 6, "(A[0] + 32) % 6"),
        (a // 5 // 4, "A[0] // 20"),
        ((Min(a, const(0)) + Min(b, const(0)) + 4) // 4, "(T.min(A[0], 0) + T.min(B[0], 0) + 4) // 4"),
    ],
)
def test_normal_forms(before: PrimExpr, after: str) -> None:
    assert str(analyzer().canonical_simplify(before)) == after


def test_what_the_rules_leave_is_brought_into_normal_form() -> None:
    assert str(analyzer().simplify(n * 6 % 4)) == "n % 2 * 2"
    assert str(analyzer().simplify(small * 6 % 4)) == 'T.Cast("int32", D[0]) % 2 * 2'
    assert str(analyzer().simplify(n + 1 <= a + 3)) == "n < A[0] + 3"
    assert str(analyzer().simplify(truncdiv(a, z) - 8 >= n)) == "n + 8 <= T.Div(A[0], z)"


@pytest.mark.parametrize(
    ("low", "high", "added", "shift", "apart"),
    [
        (0, 1, MOST - 1, -5, True),
        (0, 2, MOST - 1, -5, False),
        (0, 1, LEAST, 5, True),
        (-1, 0, LEAST, 5, False),
        (MOST + 1, MOST + 2, LEAST, 5, False),  # the sum fits, and a term does not
    ],
)
def test_a_conversion_is_one_of_each_term_where_all_of_them_fit(
    low: int, high: int, added: int, shift: int, apart: bool
) -> None:
    analyzer = Analyzer()
    analyzer.bind(big, Range(const(low, "int64"), const(high + 1, "int64")))
    converted = Cast("int32", big + const(added, "int64")) + shift
    expected = Cast("int32", big) + (added + shift) if apart else converted
    assert analyzer.can_prove_equal(expected, converted) is True
    assert isinstance(analyzer.canonical_simplify(converted - Cast("int32", big)), IntImm) is apart


@pytest.mark.parametrize(
    ("e", "asked"),
    [
        (x + n * 4 - 1, False),
        (n // 4 + n % 8, False),
        (n // 4 * 3, False),
        (n // 4 * 8, True),
        (n // (x + 1) * 8, True),
        (FloorDiv(n, const(0)) * 8, False),
        ((x + n) // 3, True),
        ((x + n) % 3, True),
        (n // (x + 1), True),
        (n * x, True),
        (Min(n, x), True),
        (truncdiv(n, 5), True),
        (f * g, False),
        (Div(f, g), False),
        (Min(f, g), False),
    ],
)
def test_rules_are_asked_where_the_normal_form_does_not_say_all(e: PrimExpr, asked: bool) -> None:
    for has_congruence in (False, True):
        analyzer = Analyzer()
        if has_congruence:
            analyzer.update(Var("other"), ModularSet(4, 1))
        analyzer.simplify(e)
        assert (analyzer.rewrite_simplify_stats.nodes_visited > 0) is (asked or has_congruence)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # m is 4 k, m + 1 is not
        ((n + m) // 4, "m // 4 + n // 4"),
        ((n + m) % 4, "n % 4"),
        ((n + m + 1) % 4, "(n + m + 1) % 4"),
        ((n + m) // 8, "(n + m) // 8"),
        ((n + m) % 8, "(n + m) % 8"),
        (truncmod(m, 4), "0"),
        (truncmod(m, 8), "T.truncmod(m, 8)"),
        (truncmod(m, n), "T.truncmod(m, n)"),
        # lanes of one block
        (Ramp(y // 2 + 1, const(1), 4) // Broadcast(const(8), 4), "T.Broadcast(0, 4)"),
        (Ramp(y, const(1), 4) // Broadcast(const(8), 4), "T.Ramp(y, 1, 4) // T.Broadcast(8, 4)"),
        (Ramp(y, const(-1), 4) // Broadcast(const(8), 4), "T.Ramp(y, -1, 4) // T.Broadcast(8, 4)"),
        (Ramp(m * 2 + 4, const(1), 4) // Broadcast(const(8), 4), "T.Broadcast(m // 4, 4)"),
        (Ramp(m * 2 + 5, const(1), 4) // Broadcast(const(8), 4), "T.Ramp(m * 2 + 5, 1, 4) // T.Broadcast(8, 4)"),
        (Ramp(m * 2 + 3, const(-1), 4) // Broadcast(const(8), 4), "T.Broadcast(m // 4, 4)"),
        (Ramp(m * 2 + 2, const(-1), 4) // Broadcast(const(8), 4), "T.Ramp(m * 2 + 2, -1, 4) // T.Broadcast(8, 4)"),
        (Ramp(m * 2 + 13, const(1), 4) % Broadcast(const(8), 4), "T.Ramp(5, 1, 4) % T.Broadcast(8, 4)"),
        (Ramp(m + 13, const(1), 4) % Broadcast(const(8), 4), "T.Ramp(m + 13, 1, 4) % T.Broadcast(8, 4)"),
        (Ramp(const(13), const(1), 8) % Broadcast(const(8), 8), "T.Ramp(5, 1, 8) % T.Broadcast(8, 8)"),
        (Ramp(const(5), const(1), 8) % Broadcast(const(8), 8), "T.Ramp(5, 1, 8) % T.Broadcast(8, 8)"),
        # equal differences
        (Min(n, x) - Min(n + 4, x + 4), "-4"),
        (Min(n, x) - Min(n + 4, x + 3), "T.min(n, x) - T.min(n + 4, x + 3)"),
        # what floating point numbers are not: ordered, and finite
        (Or(f < g, g <= f), "f < g or g <= f"),
        (Or(x < n, n <= x), "T.bool(True)"),
        (f * const(0.0), "f * T.float32(0.0)"),
        (Cast("float32", n) * const(0.0), "T.float32(0.0)"),
        (Cast("float32", Var("d", "float64")) * const(0.0), 'T.Cast("float32", d) * T.float32(0.0)'),
        (Var("i", "int8") * const(0, "int8"), "T.int8(0)"),
        # a common factor, which is multiplied in again if it is a constant
        (n * x + n, "n * (x + 1)"),
        (n * 2 + 2, "n * 2 + 2"),
        ((n + 1) * 2, "n * 2 + 2"),
    ],
)
def test_rules(before: PrimExpr, after: str) -> None:
    knows = analyzer()
    knows.update(m, ModularSet(4, 0))
    assert str(knows.rewrite_simplify(before)) == after
    assert knows.rewrite_simplify_stats.max_recursive_depth < 8


@pytest.mark.parametrize(("least", "after"), [(8, "T.truncmod(x - y - 2, 3)"), (7, "T.truncmod(x - y - 8, 3)")])
def test_a_remainder_of_a_difference_that_is_known_not_to_be_negative(least: int, after: str) -> None:
    with (knows := analyzer()).constraint(x - y >= least):
        assert str(knows.canonical_simplify(truncmod(x - y - 8, 3))) == after
    (knows := analyzer()).mark_global_non_neg(x - 8 - y)
    assert str(knows.canonical_simplify(truncmod(x - 8 - y, 3))) == "T.truncmod(x - y - 2, 3)"


def test_sums_of_many_terms_are_merged() -> None:
    many = [Var(f"v{i}") for i in range(20)]
    total = sum(many, const(0))
    assert deep_equal(Analyzer().canonical_simplify(total + many[3] - total), many[3])
    assert deep_equal(
        Analyzer().canonical_simplify(total // 1 + many[19] * 2 - total + many[0]), many[19] * 2 + many[0]
    )


@pytest.mark.parametrize(
    ("e", "stable", "loaded"),
    [
        (x + 1, True, False),
        (a, False, True),
        (exp(f), True, False),
        (exp(Cast("float32", a)), False, True),
        (likely(x < 3), True, False),
        (call_extern("int32", "next"), False, True),
        (call_extern("int32", "next") + x, False, True),
        (if_then_else(a < 3, x, n), False, True),
    ],
)
def test_what_depends_on_memory(e: PrimExpr, stable: bool, loaded: bool) -> None:
    """A call without effects changes as little as its arguments; one that may do anything answers anything."""
    assert is_stable(e) is stable
    assert is_loaded(e) is loaded
    assert is_loaded(n + 1, [n])


@pytest.mark.parametrize(
    ("old", "new", "overflows"),
    [
        (Max(a, const(LEAST + 1)) < n, Max(a, const(LEAST + 1)) - 1 < n, False),
        (a < n, a - 1 < n, True),
        (Min(a, const(MOST - 1)) < n, Min(a, const(MOST - 1)) + 1 < n, False),
        (a < n, a + 1 < n, True),
        (a + 1 < n, a + 1 < n + 1, False),
        (a < n, n + 1 < a, False),
        (Cast("float32", a) < f, Cast("float32", a) - f < 0.0, False),
    ],
)
def test_what_overflows_only_after_it_was_rewritten(old: PrimExpr, new: PrimExpr, overflows: bool) -> None:
    assert may_overflow_after(old, new, ConstIntBoundAnalyzer()) is overflows
