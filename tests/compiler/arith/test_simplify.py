"""Simplification keeps values, whatever the expression; and what index arithmetic has to become."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler import tir
from compiler.arith import Analyzer, ConstIntBound, ModularSet
from compiler.arith.deep_equal import deep_equal
from compiler.arith.extension import Extension
from compiler.arith.monomials import exact_quotient
from compiler.ir.error import ArgumentError, DTypeError
from compiler.ir.expr.primexpr import (
    NE,
    Add,
    And,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    PrimExpr,
    Ramp,
    Range,
    Select,
    SizeVar,
    Sub,
    Var,
    const,
)
from compiler.ir.expr.substitute import post_order_visit, substitute
from compiler.ir.origin import derived_from
from compiler.ir.structural import assert_structural_equal, structural_equal
from compiler.tir.expressions.math import ceil, log2
from compiler.tir.expressions.op import all as all_of
from compiler.tir.expressions.op import if_then_else, likely, truncdiv, truncmod
from compiler.tir.statements.decl_buffer import decl_buffer
from tests.compiler.arith.expressions import (
    ASSIGNMENTS,
    CONDITIONS,
    INTEGERS,
    LANES,
    RANGES,
    VARIABLES,
    VECTOR_CONDITIONS,
    VECTORS,
    evaluate,
    evaluate_lane,
    examples,
    well_typed,
    written,
)


def bounded() -> Analyzer:
    analyzer = Analyzer()
    for v in VARIABLES:
        low, high = RANGES[v.name]
        analyzer.bind(v, Range(low, high + 1))
    return analyzer


def same_value(before: PrimExpr, after: PrimExpr, values: dict[str, int]) -> None:
    try:
        expected = evaluate(before, values)
    except ZeroDivisionError:
        return
    assert evaluate(after, values) == expected, f"{written(before)} became {written(after)} at {values}"


@examples(100)
@given(INTEGERS, st.lists(ASSIGNMENTS, min_size=8, max_size=8))
def test_simplification_keeps_values(e: PrimExpr, points: list[dict[str, int]]) -> None:
    analyzer = bounded()
    for simplified in (analyzer.rewrite_simplify(e), analyzer.canonical_simplify(e), analyzer.simplify(e)):
        assert simplified.dtype == e.dtype
        assert well_typed(simplified), written(simplified)
        for values in points:
            same_value(e, simplified, values)


@examples(80)
@given(CONDITIONS, st.lists(ASSIGNMENTS, min_size=8, max_size=8))
def test_simplified_conditions_keep_truth(e: PrimExpr, points: list[dict[str, int]]) -> None:
    analyzer = bounded()
    for simplified in (analyzer.rewrite_simplify(e), analyzer.canonical_simplify(e), analyzer.simplify(e)):
        assert simplified.dtype == e.dtype
        assert well_typed(simplified), written(simplified)
        for values in points:
            same_value(e, simplified, values)


@examples(60)
@given(CONDITIONS, INTEGERS, st.lists(ASSIGNMENTS, min_size=8, max_size=8))
def test_simplification_under_a_condition_keeps_values_where_it_holds(
    condition: PrimExpr, e: PrimExpr, points: list[dict[str, int]]
) -> None:
    analyzer = bounded()
    with analyzer.constraint(condition):
        simplified = analyzer.simplify(e)
        bound = analyzer.const_int_bound(e)
    for values in points:
        try:
            if not evaluate(condition, values):
                continue
            value = evaluate(e, values)
        except ZeroDivisionError:
            continue
        assert bound.min_value <= value <= bound.max_value
        same_value(e, simplified, values)


@examples(100)
@given(st.one_of(VECTORS, VECTORS, VECTOR_CONDITIONS), st.lists(ASSIGNMENTS, min_size=4, max_size=4))
def test_simplification_keeps_the_lanes_of_vectors(e: PrimExpr, points: list[dict[str, int]]) -> None:
    simplified = bounded().simplify(e)
    assert simplified.dtype == e.dtype
    for values, lane in itertools.product(points, range(LANES)):
        try:
            expected = evaluate_lane(e, lane, values)
        except ZeroDivisionError:
            continue
        assert evaluate_lane(simplified, lane, values) == expected, f"{written(e)} became {written(simplified)}"


@examples(60)
@given(INTEGERS)
def test_simplification_settles(e: PrimExpr) -> None:
    analyzer = bounded()
    once = analyzer.simplify(e)
    assert deep_equal(bounded().simplify(once), analyzer.simplify(once))


io, ii, i, j, n, x, y, z = (Var(name) for name in ["io", "ii", "i", "j", "n", "x", "y", "z"])


def tiled() -> Analyzer:
    analyzer = Analyzer()
    for var, extent in ((io, 32), (ii, 32), (i, 100), (j, 128)):
        analyzer.bind(var, Range(0, extent))
    return analyzer


def case(before: PrimExpr, after: PrimExpr | int) -> object:
    return pytest.param(before, const(after) if isinstance(after, int) else after, id=written_any(before))


def written_any(e: PrimExpr) -> str:
    try:
        return written(e)
    except AssertionError:
        return type(e).__name__


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # a split axis and its parts
        case((io * 32 + ii) // 32, io),
        case((io * 32 + ii) % 32, ii),
        case((io * 32 + ii) // 4 % 8, ii // 4),
        case((i * 128 + j) // 64 % 2, j // 64),
        case((i * 128 + j) % 64 // 4, j % 64 // 4),
        case((j + i * 128 + x * 12800) // 12800, x),
        case((j + i * 128 + x * 12800) % 12800, i * 128 + j),
        case((ii + io * 32) // 32 * 32 + (ii + io * 32) % 32, io * 32 + ii),
        # a fused axis of symbolic extent
        case((i * n + j) // n, i + j // n),
        case((i * n + j) % n, j % n),
        case(x // n * n + x % n, x),
        case((x + y) // n * n + i + (x + y) % n, i + x + y),
        # like terms
        case((x * 4 + y) * 3 - x * 12, y * 3),
        case(y + x * 2 + z - y, x * 2 + z),
        case((x * 3 + y * 2) * 5, x * 15 + y * 10),
        case((x + 1) * 4 - y * 2 - 5, x * 4 - y * 2 - 1),
        case(x * n + y * n, n * (x + y)),
        case(x - 1, x - 1),
        case(3 - x + y, y + 3 - x),
        # quotients and remainders of one index
        case(x // 4 * 4 + x % 4, x),
        case(x // 2 % 4 * 2 + x % 2, x % 8),
        case(x // 4 // 8 * 8 + x // 4 % 8, x // 4),
        case((x * 4 + y % 4) // 16, x // 4),
        case((x * 4 + y % 4) % 16, x % 4 * 4 + y % 4),
        case((x * 4 + 2) // 4, x),
        case((x * 8 + 5) % 4, 1),
        case((x * 8 + 39) // 16, x // 2 + 2),
        case(And((x // 8).equal(3), (x % 8).equal(4)), x.equal(28)),
        # parities
        case(x % 2 + (x + 1) % 2, 1),
        case((x + 5) // 2 - (x - 2) // 2, x % 2 + 3),
        case(x // 2 - (x - 1) // 2, 1 - x % 2),
        case((x + 1) // 2 - x % 2, x // 2),
        case((x + x % 2) % 2, 0),
        case(x // 4 * 4 >= x, (x % 4).equal(0)),
        case(tir.clz(const(1)), 31),
        case(tir.clz(const(-1)), 0),
        case(truncdiv(i * 128 + j, 128), i),
        case(truncmod(i * 128 + j, 128), j),
        # bounds and guards
        case(io * 32 + ii < 1024, 1),
        case(likely(io * 32 + ii < 1024), 1),
        case(i * 128 + j < 6400, i < 50),
        case(i * 4 + j <= i * 4 + 127, 1),
        case(x + 1 <= y, x < y),
        case(x <= y - 1, x < y),
        case(x // 4 < 8, x < 32),
        case(x * 2 < y * 4, x < y * 2),
        case(3 - x < y, const(3) < y + x),
        case(NE(Min(x, y), x), y < x),
        case(NE(io * 10, const(0)), const(0) < io),
        case(Min(io * 32 + 32, const(1024)) - io * 32, 32),
        case(Max(Min(io * 32 + ii, const(1023)), const(0)), io * 32 + ii),
        case(Min(Min(x, const(4)), Min(y, const(6))), Min(Min(x, Min(y, const(6))), const(4))),
        case(Min(Max(x, const(0)), const(6)), Min(Max(x, const(0)), const(6))),
        case(Min(10 - x, const(0)), Min(10 - x, const(0))),
        case((x * 2).equal(y * 2 + 1), 0),
        case(And(x < 3, x >= 3), 0),
        case(Not(And(x < 3, y < 4)).a, And(x < 3, y < 4)),
        # branches know their condition
        case(Select(x < 3, Select(x < 5, y, z), z), Select(x < 3, y, z)),
        case(if_then_else(x < 5, if_then_else(i < x, y, z), z), if_then_else(And(x < 5, i < x), y, z)),
        case(if_then_else(x < 3, Min(x, const(3)), Max(x, const(2))), if_then_else(x < 3, x, x)),
        # vectors
        case(Ramp(io * 4, const(1), 4) + Broadcast(j, 4), Ramp(io * 4 + j, const(1), 4)),
        case(Ramp(io * 32, const(1), 8) // Broadcast(const(32), 8), Broadcast(io, 8)),
        case(Ramp(io * 32, const(1), 8) % Broadcast(const(32), 8), Ramp(const(0), const(1), 8)),
        case(Ramp(x, const(0), 4), Broadcast(x, 4)),
        # the rest
        case(Let(x, y + 0 * y, x * 2), y * 2),
        case(Cast("int64", const(3)), IntImm("int64", 3)),
    ],
)
def test_becomes(before: PrimExpr, after: PrimExpr) -> None:
    result = tiled().simplify(before)
    expected = tiled().simplify(after) if isinstance(after, Call) else after
    if isinstance(expected, IntImm):
        assert isinstance(result, IntImm)
        assert result.value == expected.value
    else:
        assert deep_equal(result, expected), f"{result!s} is not {expected!s}"


def test_long_indices_stay_long() -> None:
    outer, inner, size = Var("outer", "int64"), Var("inner", "int64"), Var("size", "int64")
    analyzer = Analyzer()
    analyzer.bind(inner, Range(const(0, "int64"), const(32, "int64")))
    for e in (
        (outer * 32 + inner) // 64 + 1 - inner * 2,
        (outer * 32 + inner * 3) % 48,
        Min(outer * 32 + inner, size * 4 - 3) - outer * 32,
        And(outer * 32 + inner < size * 32, outer - 1 >= inner + 2),
        Select(outer + 1 < inner, (outer - inner) * -2, Max(outer, inner) - inner),
    ):
        result = analyzer.simplify(e)
        assert result.dtype == e.dtype
        assert well_typed(result), written(result)
        constants: list[str] = []
        post_order_visit(result, lambda n, found=constants: found.append(n.dtype) if isinstance(n, IntImm) else None)
        assert set(constants) <= {"int64"}


def test_nothing_new_where_nothing_changed() -> None:
    e = io * 32 + ii
    assert tiled().simplify(e) is e


def test_small_integers_may_wrap() -> None:
    a = Var("a", "int8")
    b = Var("b", "uint32")
    analyzer = Analyzer()
    assert not analyzer.can_prove(a < a + const(1, "int8"))
    assert not analyzer.can_prove(b - const(1, "uint32") < b)
    assert analyzer.const_int_bound(a + const(1, "int8")) == (-128, 127)


def test_can_prove() -> None:
    analyzer = Analyzer()
    size = SizeVar("size")
    assert analyzer.can_prove(size >= 0)
    assert not analyzer.can_prove(size > 0)
    assert analyzer.can_prove_equal((x + y) * 2, y * 2 + x * 2)
    assert not analyzer.can_prove_equal(x, y)
    with analyzer.constraint(all_of(x >= 4, x % 4 == 0)):
        assert analyzer.can_prove(x // 4 >= 1)
        assert analyzer.can_prove((x + 8) % 4 == 0)
    assert not analyzer.can_prove(x // 4 >= 1)
    analyzer.mark_global_non_neg(y)
    assert analyzer.can_prove(y + 1 > 0)


@pytest.mark.parametrize(("low", "proven"), [(1, True), (0, False), (-5, False)])
def test_a_product_is_below_a_multiple_of_the_sum_only_if_both_factors_are_positive(low: int, proven: bool) -> None:
    analyzer = Analyzer()
    analyzer.enabled_extensions = Extension.ComparisonOfProductAndSum
    x, y = Var("x"), Var("y")
    analyzer.bind(x, Range(low, 4))
    analyzer.bind(y, Range(1, 5))
    assert analyzer.can_prove(x * y < (x + y) * 2) is proven


def test_what_does_not_divide_a_product_leaves_no_quotient() -> None:
    quotient = exact_quotient(x * 12, x * 4)
    assert quotient is not None
    assert deep_equal(quotient, const(3))
    for divisor in (x * 5, y * 4, const(0)):
        assert exact_quotient(x * 12, divisor) is None


def test_bind_to_a_value_and_to_one_iteration() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, y + 1)
    assert deep_equal(analyzer.simplify(x * 2), y * 2 + 2)
    analyzer.bind(z, Range.from_min_extent(y * 4, 1))
    assert deep_equal(analyzer.simplify(z + 1), y * 4 + 1)


def test_facts_from_outside() -> None:
    analyzer = Analyzer()
    bound = analyzer.const_int_bound(Var("long", "int64"))
    assert bound == (bound.NEG_INF, bound.POS_INF)
    analyzer.update(x, ModularSet(4, 1))
    analyzer.update(y, ConstIntBound(0, 3))
    assert analyzer.modular_set(x * 2 + 1) == ModularSet(8, 3)
    assert isinstance(analyzer.simplify((x + 3) % 4), IntImm)
    assert analyzer.can_prove(y < 4)
    with pytest.raises(DTypeError, match="modular_set: expected an integer expression"):
        analyzer.modular_set(const(1.0))


def test_a_new_binding_replaces_the_old_one_where_it_may() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(3, 4))
    assert isinstance(analyzer.simplify(x), IntImm)
    analyzer.bind(x, Range(0, n), override=True)
    assert analyzer.simplify(x) is x
    analyzer.bind(x, Range(0, 8), override=True)
    assert not analyzer.can_prove(x < n)
    assert analyzer.can_prove(x < 8)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Range(0, 8), Range(0, 9)),
        (Range(0, 8), Range(0, 4)),
        (Range(0, 8), const(4)),
        (const(4), Range(0, 8)),
        (const(3), const(4)),
        (y, z),
        (y * 2, y * 4),
        (y, Range(0, 8)),
        (Range(0, y), Range(0, z)),
        (Range.from_min_extent(y, 1), Range.from_min_extent(z, 1)),
    ],
)
def test_a_variable_is_not_bound_to_another_thing(first: Range | PrimExpr, second: Range | PrimExpr) -> None:
    """What was known still holds after the error, as a query under the first binding shows."""
    analyzer, reference = Analyzer(), Analyzer()
    analyzer.bind(x, first)
    reference.bind(x, first)
    with pytest.raises(ArgumentError, match=r"bind: 'x' is known to be .*override=True"):
        analyzer.bind(x, second)
    for e in (x, x // 8, x < n):
        assert structural_equal(analyzer.simplify(e), reference.simplify(e))
    assert analyzer.const_int_bound(x) == reference.const_int_bound(x)


@pytest.mark.parametrize("expr", [Range(0, 8), Range(0, n), y * 2, const(3), Range.from_min_extent(y, 1)])
def test_a_variable_is_bound_to_the_same_thing_again(expr: Range | PrimExpr) -> None:
    analyzer = Analyzer()
    analyzer.bind(x, expr)
    simplified = analyzer.simplify(x + 1)
    analyzer.bind(x, expr)
    assert structural_equal(analyzer.simplify(x + 1), simplified)


def test_a_range_joins_a_congruence() -> None:
    analyzer = Analyzer()
    analyzer.update(x, ModularSet(4, 0))
    analyzer.bind(x, Range(0, 8))
    assert analyzer.modular_set(x) == ModularSet(4, 0)
    assert analyzer.can_prove(x < 8)


def test_binding_under_a_condition_outlives_it() -> None:
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 8))
    assert analyzer.simplify(x // 8).value == 0
    e = x // 8
    assert isinstance(analyzer.simplify(e), IntImm)
    with analyzer.constraint(y > 3):
        analyzer.bind(x, Range(0, 100), override=True)
    assert analyzer.simplify(e) is e


def test_what_binding_changes_is_not_remembered() -> None:
    analyzer = Analyzer()
    e = x // 8
    assert analyzer.simplify(e) is e
    analyzer.bind(x, Range(0, 8))
    assert isinstance(analyzer.simplify(e), IntImm)


def test_calls_are_simplified_inside() -> None:
    f: Callable[[PrimExpr], PrimExpr] = likely
    result = Analyzer().simplify(f(x + 1 < y + 1))
    assert isinstance(result, Call)
    assert deep_equal(result.args[0], x < y)


def test_symbolic_ranges() -> None:
    analyzer = Analyzer()
    m = Var("m")
    analyzer.bind(i, Range(0, n))
    analyzer.bind(j, Range(0, m))
    analyzer.bind(x, Range(0, 4))
    assert analyzer.can_prove(i < n)
    assert analyzer.can_prove(i * 4 + x < n * 4)
    assert analyzer.can_prove(i - 1 < n - 1)
    assert not analyzer.can_prove(i + 1 < n)
    assert not analyzer.can_prove(i < m)
    assert analyzer.can_prove(n - i > 0)
    assert analyzer.can_prove(n - i <= n)
    assert not analyzer.can_prove(n - i > 1)
    assert not analyzer.can_prove(n < i + 2)
    assert not analyzer.can_prove(n - i * 2 < 3)
    assert analyzer.can_prove(NE(n, i))
    assert not analyzer.can_prove(n - i < n)
    assert analyzer.simplify((i * m + j) // m) is i
    assert analyzer.simplify((i * m + j) % m) is j
    assert deep_equal(analyzer.simplify(Min(i + 1, n)), i + 1)


def test_each_term_remembers_where_it_comes_from() -> None:
    split, use = frozenset({1}), frozenset({2})
    with derived_from(split):
        axis = io * 32 + ii
    with derived_from(use):
        index = axis * 1024 + j
    result = tiled().simplify(index)
    assert deep_equal(result, io * 32768 + ii * 1024 + j)
    outer, inner = result.a.a, result.a.b
    assert outer.span == inner.span == split | use
    assert result.span == use


def test_comparisons_of_expressions_are_remembered() -> None:
    analyzer = Analyzer()
    m = Var("m")
    with analyzer.constraint(all_of(i * 32 + j < n, n <= m)):
        assert analyzer.can_prove(i * 32 + j < n)
        assert analyzer.can_prove(i * 32 + j + 1 <= n)
        assert analyzer.can_prove(i * 32 + j - 3 < n)
        assert analyzer.can_prove(n - j > i * 32)
        assert analyzer.can_prove(NE(i * 32 + j, n))
        assert not analyzer.can_prove(i * 32 + j + 1 < n)
        assert not analyzer.can_prove(i * 32 < n)
    assert not analyzer.can_prove(i * 32 + j < n)


def test_what_memory_holds_is_not_remembered() -> None:
    """A store may change it while the condition is said to hold."""
    analyzer = Analyzer()
    buffer = decl_buffer((4,), "int32", "A")
    condition = buffer[const(0)] < 5
    with analyzer.constraint(condition):
        assert not analyzer.can_prove(buffer[const(0)] < 5)
        assert not analyzer.can_prove(buffer[const(0)] < 6)
    with analyzer.constraint(And(condition, x < 5)):
        assert analyzer.can_prove(x < 6)


LARGEST = (1 << 31) - 1


@pytest.mark.parametrize(
    "e",
    [
        x * 65536 * 65536,
        (x * 65536 + y) * 65536,
        x + LARGEST + LARGEST,
        x - LARGEST - LARGEST,
        (x + LARGEST) + (y + LARGEST),
        x + LARGEST < y - LARGEST,
        x * 65536 * 65536 < y,
        (x * 65536 * 65536 + y) // 7,
        (x * 65536 * 65536 + LARGEST + LARGEST) % 9,
        Min(x + LARGEST, y - LARGEST),
        (x * 65536 * 65536).equal(y + LARGEST + LARGEST),
        Select(x + LARGEST + LARGEST < 0, x * 65536 * 65536, y),
        (x + LARGEST + LARGEST) % (y + LARGEST + LARGEST),
        x * -65536 * 32768 - x * LARGEST,
    ],
    ids=written,
)
def test_constants_that_do_not_fit_are_not_made(e: PrimExpr) -> None:
    analyzer = Analyzer()
    analyzer.bind(y, Range(0, 4))
    for simplified in (analyzer.simplify(e), analyzer.rewrite_simplify(e), analyzer.canonical_simplify(e)):
        assert well_typed(simplified)
        for values in ({"x": -3, "y": 0}, {"x": 7, "y": 3}):
            same_value(e, simplified, values)


@pytest.mark.parametrize("kind", [FloorDiv, FloorMod, Div, Mod])
def test_a_division_by_zero_stays(kind: type[BinaryOp]) -> None:
    zero = Var("zero")
    analyzer = Analyzer()
    analyzer.bind(zero, const(0))
    for dividend in (x * 4, x * 4 + y, x, const(3), x + 0 * y):
        for e in (kind(dividend, zero), kind(dividend, const(0)), Let(y, const(0), kind(dividend, y))):
            result = analyzer.simplify(e)
            assert isinstance(result, kind)
            assert analyzer.simplify(Select(x < 0, e, y) + result).dtype == "int32"


@pytest.mark.parametrize("kind", [FloorDiv, FloorMod, Div, Mod])
def test_a_division_of_vectors_by_zero_stays(kind: type[BinaryOp]) -> None:
    zero = Var("zero")
    analyzer = Analyzer()
    analyzer.bind(zero, const(0))
    divisors = (Broadcast(const(0), 4), Broadcast(zero, 4), Ramp(const(0), const(0), 4), Ramp(zero, zero, 4))
    dividends = (Ramp(const(1), const(1), 4), Ramp(x * 4, const(4), 4), Broadcast(x, 4), Broadcast(const(3), 4))
    for e in (kind(dividend, divisor) for dividend in dividends for divisor in divisors):
        simplified = analyzer.simplify(e)
        assert isinstance(simplified, kind)
        assert isinstance(simplified.b, Broadcast)
        assert deep_equal(simplified.b.value, const(0))


@pytest.mark.parametrize("kind", [FloorDiv, FloorMod, Div, Mod])
def test_a_division_by_zero_alone_has_no_normal_form(kind: type[BinaryOp]) -> None:
    analyzer = Analyzer()
    for e in (kind(x, const(0)), kind(Ramp(x, const(1), 4), Broadcast(const(0), 4))):
        for simplify in (analyzer.rewrite_simplify, analyzer.canonical_simplify):
            with pytest.raises(ArgumentError, match="division by zero"):
                simplify(e)
    assert isinstance(analyzer.rewrite_simplify(Select(x < 0, kind(x, const(0)), y)), Select)


def test_constants_of_floating_point_types_stay_where_they_are_written() -> None:
    v, two = Var("v", "float32"), const(2.0, "float32")
    for e in (Mul(two, v), Mul(v, two), Add(two, v)):
        assert Analyzer().simplify(e) is e


def test_comparisons_of_floating_point_numbers_are_written_with_less() -> None:
    x, y = Var("x", "float32"), Var("y", "float32")
    for before, after in ((x >= y, y <= x), (x > y, y < x), (Not(x >= y), Not(y <= x))):
        assert_structural_equal(Analyzer().simplify(before), after)


def test_zero_and_one_are_neutral_in_every_type() -> None:
    v = Var("v", "float32")
    zero, one = const(0.0, "float32"), const(1.0, "float32")
    for e in (Add(v, zero), Add(zero, v), Sub(v, zero), Mul(v, one), Mul(one, v), Div(v, one)):
        assert Analyzer().simplify(e) is v
        assert deep_equal(Analyzer().simplify(Broadcast(e, 4)), Broadcast(v, 4))
    ramp = Cast("float32x4", Ramp(x, const(1), 4))
    assert deep_equal(Analyzer().simplify(Add(ramp, Broadcast(zero, 4))), ramp)
    assert deep_equal(Analyzer().simplify(Mul(ramp, Broadcast(zero, 4))), Broadcast(zero, 4))
    assert isinstance(Analyzer().simplify(Mul(v, zero)), Mul), "zero times an infinity is not a number"


def test_rounded_logarithms_of_integers_are_known() -> None:
    analyzer = Analyzer()
    for dtype, largest in (("float32", 1 << 12), ("float64", 1 << 26)):
        for number in (1, 2, 3, 4, 5, 1023, 1024, 1025, largest - 1, largest):
            rounded = Cast("int32", ceil(log2(Cast(dtype, const(number)))))
            assert analyzer.simplify(rounded).value == (number - 1).bit_length()
        analyzer.bind(x, Range(largest // 2 + 1, largest + 1), override=True)
        of_range = Cast("int32", ceil(log2(Cast(dtype, x))))
        exponent = largest.bit_length() - 1
        assert analyzer.const_int_bound(of_range) == ConstIntBound(exponent, exponent)
        assert analyzer.can_prove(of_range == exponent)
        analyzer.bind(x, Range(1, 2 * largest), override=True)
        assert not analyzer.can_prove(of_range <= exponent + 1), "rounding may change larger ones"


def test_a_negative_stays_the_product_that_it_is_written_as() -> None:
    negative, difference = Mul(x, const(-1)), Sub(const(0), x)
    for e in (negative, difference):
        assert Analyzer().simplify(e) is e
        assert deep_equal(Analyzer().simplify(Add(e, y)), Sub(y, x))
    assert Analyzer().can_prove_equal(negative, difference)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "uint64"])
def test_a_difference_cancels_in_integers_that_wrap_around(dtype):
    a, b = Var("a", dtype), Var("b", dtype)
    analyzer = Analyzer()
    for e, expected in ((a - a, const(0, dtype)), (a + b - a, b), (a + b - b, a), (a * b - a * b, const(0, dtype))):
        assert structural_equal(analyzer.simplify(e), expected), e
    ends = np.iinfo(dtype)
    numbers = np.random.default_rng(0).integers(ends.min, ends.max, (2, 50), dtype, endpoint=True)
    assert ((numbers[0] + numbers[1] - numbers[0]) == numbers[1]).all()
    x = Var("x", "float32")
    assert isinstance(analyzer.simplify(x - x), Sub)  # not zero where x is infinite or not a number


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x, y: x * 32 * x % x, lambda x, y: const(0)),
        (lambda x, y: x * y * 32 // y, lambda x, y: x * 32),
        (lambda x, y: y * x * 32 // (x * 16), lambda x, y: y * 2),
        (lambda x, y: x * y * 32 % (y * x), lambda x, y: const(0)),
        (lambda x, y: x * y * 32 % (y * 16), lambda x, y: const(0)),
        (lambda x, y: x * tir.vscale() * 8 % (tir.vscale() * 4), lambda x, y: const(0)),
        (lambda x, y: x * y * 32 // (y * 5), lambda x, y: x * y * 32 // (y * 5)),
    ],
)
def test_a_product_is_divided_by_its_factors(build, expected):
    x, y = Var("x", "int32"), Var("y", "int32")
    assert structural_equal(Analyzer().simplify(build(x, y)), expected(x, y))


def test_a_difference_that_may_be_negative_does_not_bound_the_other_term():
    x, y, z = (Var(name, "int32") for name in "xyz")
    analyzer = Analyzer()
    for v in (y, z):
        analyzer.bind(v, Range(0, 8))
    condition = analyzer.simplify(x * 8 + y - z < 16)
    # x < 2, which classic TVM makes of it, is another condition: 2 * 8 + 0 - 1 < 16.
    values = {x: const(2), y: const(0), z: const(1)}
    assert structural_equal(analyzer.simplify(substitute(condition, values)), const(True))
