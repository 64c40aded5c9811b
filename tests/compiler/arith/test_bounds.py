"""Intervals, congruences and sets hold every value that occurs."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from math import gcd
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import compiler as tvm
from compiler.arith import (
    Analyzer,
    ConstIntBound,
    IntervalSet,
    IntSet,
    ModularSet,
    detect_clip_bound,
    eval_set,
    intersect,
    neg_inf,
    pos_inf,
    union,
)
from compiler.arith.const_int_bound import EVERYTHING, UNBOUNDED, ConstIntBoundAnalyzer
from compiler.arith.deep_equal import deep_equal
from compiler.arith.int_set import union_lower_bound
from compiler.arith.linear.deduce_bound import deduce_bound
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir.expr.primexpr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Add,
    And,
    BinaryOp,
    Broadcast,
    Cast,
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
    Ramp,
    Range,
    SizeVar,
    Sub,
    Var,
    const,
)
from compiler.ir.expr.substitute import substitute
from compiler.tir.expressions.op import all as all_of
from compiler.tir.expressions.op import if_then_else, likely, truncdiv, truncmod
from tests.compiler.arith.expressions import ASSIGNMENTS, INTEGERS, RANGES, VARIABLES, evaluate, examples, written

x, y, z, w = VARIABLES
i, j, n, m = (Var(name) for name in ("i", "j", "n", "m"))


@examples(100)
@given(INTEGERS, st.lists(ASSIGNMENTS, min_size=8, max_size=8))
def test_values_lie_in_the_interval_and_the_congruence(e: PrimExpr, points: list[dict[str, int]]) -> None:
    analyzer = Analyzer()
    for v in VARIABLES:
        low, high = RANGES[v.name]
        analyzer.update(v, ConstIntBound(low, high))
    (low, high), (coeff, base) = analyzer.const_int_bound(e), analyzer.modular_set(e)
    for values in points:
        try:
            value = evaluate(e, values)
        except ZeroDivisionError:
            continue
        assert low <= value <= high, written(e)
        assert value == base if coeff == 0 else value % coeff == base, written(e)


SMALL = [(a, b) for a in range(-3, 4) for b in range(a, 4)]


@pytest.mark.parametrize("kind", [Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max])
def test_intervals_of_operations_on_all_small_intervals(kind: type[BinaryOp]) -> None:
    for (a, b), (c, d) in itertools.product(SMALL, SMALL):
        analyzer = Analyzer()
        analyzer.update(x, ConstIntBound(a, b))
        analyzer.update(y, ConstIntBound(c, d))
        low, high = analyzer.const_int_bound(kind(x, y))
        pairs = itertools.product(range(a, b + 1), range(c, d + 1))
        division = kind in (Div, Mod, FloorDiv, FloorMod)
        values = [kind.evaluate(p, q) for p, q in pairs if q or not division]
        if values:
            assert low <= min(values), (kind, a, b, c, d)
            assert max(values) <= high, (kind, a, b, c, d)
            if kind not in (Mod, FloorMod):
                assert (low, high) == (min(values), max(values)), (kind, a, b, c, d)


BITS = {"bitwise_and": operator.and_, "shift_right": operator.rshift, "shift_left": operator.lshift}


def _class_of(values: list[int]) -> tuple[int, int]:
    """Return the finest congruence that holds for some values, as ``coeff, base``."""
    coeff = gcd(*(value - values[0] for value in values))
    return coeff, values[0] % coeff if coeff else values[0]


@pytest.mark.parametrize("divisor", range(1, 9))
def test_congruences_of_quotients_and_remainders_are_as_fine_as_they_can_be(divisor: int) -> None:
    for coeff, base in ((a, b) for a in range(1, 9) for b in range(a)):
        analyzer = Analyzer()
        analyzer.update(x, ModularSet(coeff, base))
        values = range(base - 40 * coeff, base + 40 * coeff, coeff)
        for kind in (FloorMod, FloorDiv, Mod, Div):
            quotient = kind(x, const(divisor))
            finest = _class_of([kind.evaluate(value, divisor) for value in values])
            got = tuple(analyzer.modular_set(quotient))
            if kind is FloorMod or (kind is FloorDiv and coeff % divisor == 0):
                assert got == finest, (quotient, coeff, base)
            assert finest == got or finest[0] % got[0] == 0 == (finest[1] - got[1]) % got[0], (quotient, coeff, base)
        for name, operand in (("shift_right", divisor.bit_length()), ("bitwise_and", divisor)):
            call = BITS[name](x, operand)
            results = [BITS[name](value, operand) for value in values]
            finest, got = _class_of(results), tuple(analyzer.modular_set(call))
            is_exact = coeff % (1 << operand) == 0 if name == "shift_right" else divisor & (divisor + 1) == 0
            assert finest == got if is_exact else got == (1, 0) or finest[0] % got[0] == 0, (call, coeff, base)


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("bitwise_and", (0, 20), (0, 7), (0, 7)),
        ("bitwise_and", (0, 20), (-3, 40), (0, 20)),
        ("bitwise_and", (-3, 40), (0, 7), (0, 7)),
        ("shift_right", (-9, 20), (0, 2), (-9, 20)),
        ("shift_right", (8, 20), (1, 2), (2, 10)),
        ("shift_left", (-1, 3), (0, 2), (-4, 12)),
        ("shift_left", (-1, 1), (0, 30), (-(1 << 30), 1 << 30)),
        ("shift_left", (-2, 0), (0, 30), (-(1 << 31), 0)),
        ("shift_left", (-2, 1), (0, 31), (-(1 << 31), (1 << 31) - 1)),
        ("shift_left", (0, (1 << 31) - 1), (0, 0), (0, (1 << 31) - 1)),
        ("shift_left", (0, 0), (0, 63), (0, 0)),
        ("shift_left", (0, 0), (0, 64), (-(1 << 31), (1 << 31) - 1)),
        ("shift_right", (8, 20), (1, 63), (0, 10)),
        ("shift_right", (8, 20), (1, 64), (-(1 << 31), (1 << 31) - 1)),
    ],
)
def test_intervals_of_operations_on_bits(
    name: str, a: tuple[int, int], b: tuple[int, int], expected: tuple[int, int]
) -> None:
    analyzer = Analyzer()
    analyzer.update(x, ConstIntBound(*a))
    analyzer.update(y, ConstIntBound(*b))
    assert tuple(analyzer.const_int_bound(BITS[name](x, y))) == expected


@pytest.mark.parametrize(
    ("stride", "lanes", "expected"),
    [((2, 3), 4, (1, 14)), ((-3, 2), 4, (-8, 11)), ((-3, -1), 4, (-8, 5)), ((0, 0), 8, (1, 5)), ((1, 1), 2, (1, 6))],
)
def test_intervals_of_vectors_end_with_their_lanes(
    stride: tuple[int, int], lanes: int, expected: tuple[int, int]
) -> None:
    analyzer = Analyzer()
    analyzer.update(x, ConstIntBound(1, 5))
    analyzer.update(y, ConstIntBound(*stride))
    assert tuple(analyzer.const_int_bound(Ramp(x, y, lanes))) == expected


@pytest.mark.parametrize(("low", "high"), [(-128, 127), (-128, 3), (-129, 3), (0, 127), (0, 128), (0, 3), (-128, 128)])
def test_what_fits_a_narrow_type_keeps_its_interval(low: int, high: int) -> None:
    """What does not fit may wrap around to any value of the type, in a conversion, a sum or a shift."""
    bounds = ConstIntBoundAnalyzer()
    bounds.variables[x] = (low, high)
    narrow = Var("narrow", "int8")
    bounds.variables[narrow] = (low, high - 1)
    expected = (low, high) if low >= -128 and high <= 127 else (-128, 127)
    assert bounds.visit(Cast("int8", x)) == expected
    assert bounds.visit(Add(narrow, const(1, "int8"))) == ((low + 1, high) if high <= 127 else (-128, 127))


@pytest.mark.parametrize("kind", [Mod, FloorMod])
@pytest.mark.parametrize("divisor", [1, 2, 3, 8])
def test_remainders_by_a_number_lie_in_no_wider_interval(kind: type[BinaryOp], divisor: int) -> None:
    """The ends of the bound are values that occur, where neither operand lets rounding decide."""
    for low, high in itertools.combinations_with_replacement(range(-2 * divisor, 2 * divisor + 1), 2):
        analyzer = Analyzer()
        analyzer.update(x, ConstIntBound(low, high))
        bound = analyzer.const_int_bound(kind(x, const(divisor)))
        values = [kind.evaluate(value, divisor) for value in range(low, high + 1)]
        if kind is Mod and 0 not in range(low, high + 1) and max(abs(low), abs(high)) >= divisor:
            continue  # the whole of its sign is given
        assert bound == (min(values), max(values)), (low, high)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (x < 5, (-9, 4)),
        (x <= 5, (-9, 5)),
        (x > 5, (6, 9)),
        (x >= 5, (5, 9)),
        (x.equal(5), (5, 5)),
        (const(5) > x, (-9, 4)),
        (const(5) <= x, (5, 9)),
        (x < y, (-9, 6)),
        (x > y, (1, 9)),
        (y < x, (1, 9)),
        (y >= x, (-9, 7)),
        (Not(x < 5), (5, 9)),
        (Not(Or(x < 5, x > 7)), (5, 7)),
        (Not(x.equal(9)), (-9, 8)),
        (Not(Or(x < 5, x.equal(9))), (5, 8)),
        (Not(x.equal(-9)), (-8, 9)),
        (x != 9, (-9, 8)),
        (x != 5, (-9, 9)),
        (And(x < 5, x >= 2), (2, 4)),
        (likely(x < 5), (-9, 4)),
    ],
)
def test_conditions_narrow_intervals(condition: PrimExpr, expected: tuple[int, int]) -> None:
    analyzer = Analyzer()
    analyzer.update(x, ConstIntBound(-9, 9))
    analyzer.update(y, ConstIntBound(0, 7))
    with analyzer.constraint(condition):
        assert analyzer.const_int_bound(x) == expected
    assert analyzer.const_int_bound(x) == (-9, 9)


@examples(100)
@given(INTEGERS, ASSIGNMENTS)
def test_the_set_of_an_expression_holds_its_values(e: PrimExpr, outer: dict[str, int]) -> None:
    """Relax x and y, and compare the ends, which may depend on z and w, with all values."""
    domains = {v: Range(RANGES[v.name][0], RANGES[v.name][1] + 1) for v in (x, y)}
    covered = eval_set(e, domains)
    for a, b in itertools.product(range(0, 16, 3), range(8)):
        values = {**outer, "x": a, "y": b}
        try:
            value = evaluate(e, values)
            low = None if covered.min_value is neg_inf() else evaluate(covered.min_value, values)
            high = None if covered.max_value is pos_inf() else evaluate(covered.max_value, values)
        except ZeroDivisionError:
            continue
        assert low is None or low <= value, f"{written(e)}: {covered}"
        assert high is None or value <= high, f"{written(e)}: {covered}"


def ends(s: IntervalSet) -> tuple[int, int]:
    assert isinstance(s.min_value, IntImm)
    assert isinstance(s.max_value, IntImm)
    return s.min_value.value, s.max_value.value


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (i + j, (0, 10)),
        (i - j, (-3, 7)),
        (i * 4 - 2, (-2, 26)),
        (i * -4, (-28, 0)),
        (i // 4, (0, 1)),
        (i % 4, (0, 3)),
        ((i + 8) % 16, (8, 15)),
        (Min(i, j), (0, 3)),
        (Max(i, j), (0, 7)),
        (i * j, (0, 21)),
        (Ramp(i, const(2), 4), (0, 13)),
        (Broadcast(i, 4), (0, 7)),
        (Cast("int64", i), (0, 7)),
        (likely(i < 3), (0, 1)),
    ],
)
def test_set_of(e: PrimExpr, expected: tuple[int, int]) -> None:
    assert ends(eval_set(e, {i: Range(0, 8), j: IntSet.interval(0, 3)})) == expected


def test_symbolic_ends() -> None:
    inner = eval_set(i * 32 + j, {j: Range(0, 32)})
    assert deep_equal(inner.min_value, i * 32)
    assert deep_equal(inner.max_value, i * 32 + 31)
    covered = inner.cover_range(Range(0, 1024))
    assert deep_equal(covered.min, i * 32)
    assert covered.extent.value == 32
    assert eval_set(n, {i: Range(0, 4)}).is_single_point()
    chained = eval_set(j, {j: IntSet.interval(i, i + 3), i: Range(0, 4)})
    assert ends(chained) == (0, 6)


@pytest.mark.parametrize("remainder", [i % n, Mod(i, n)])
def test_remainders_by_a_divisor_of_unknown_sign(remainder: PrimExpr) -> None:
    found = eval_set(remainder, {i: Range(0, 8)})
    for divisor in (-3, 1, 5):
        low, high = (value_of(end, n, divisor) for end in (found.min_value, found.max_value))
        assert (low, high) == (1 - abs(divisor), abs(divisor) - 1)


def value_of(e: PrimExpr, var: Var, number: int) -> int:
    result = Analyzer().simplify(substitute(e, {var: const(number)}))
    assert isinstance(result, IntImm)
    return result.value


def test_nothing_and_everything() -> None:
    whole = Range(0, 10)
    assert IntSet.everything().is_everything()
    assert IntSet.everything().cover_range(whole) is whole
    assert IntSet.nothing().is_nothing()
    assert not IntSet.nothing().is_everything()
    assert union([IntSet.nothing(), IntSet.single_point(3)]).point_value().value == 3
    assert union([IntSet.everything(), IntSet.single_point(3)]).is_everything()
    assert intersect([IntSet.interval(0, 3), IntSet.interval(5, 9)]).is_nothing()
    assert ends(intersect([IntSet.everything(), IntSet.interval(0, 9), IntSet.interval(5, 20)])) == (5, 9)
    assert ends(union([IntSet.interval(0, 3), IntSet.interval(5, 9)])) == (0, 9)
    assert eval_set(i + j, {i: IntSet.everything()}).is_everything()


@pytest.mark.parametrize(
    ("e", "low", "high"),
    [
        (j * n, "T.Select(0 <= n, 0, n * 3)", "T.Select(0 <= n, n * 3, 0)"),
        (i * (m % -3), "m % -3 * 7", "0"),
        (i % m, "1 - T.Select(0 <= m, m, m * -1)", "T.Select(0 <= m, m, m * -1) - 1"),
        (i % SizeVar("s"), "1 - s", "s - 1"),
        (i % (SizeVar("s") + 1), "0", "s"),
        (truncmod(i, SizeVar("s")), "1 - s", "s - 1"),
        (truncmod(i, SizeVar("s") + 1), "0", "s"),
        (truncmod(i - 4, SizeVar("s") + 1), "s * -1", "s"),
        (n < 4, "n < 4", "n < 4"),
        (Not(n < 4), "n < 4", "n < 4"),
        (i < n, "T.bool(False)", "T.bool(True)"),
    ],
)
def test_sets_with_ends_of_unknown_sign(e: PrimExpr, low: str, high: str) -> None:
    found = eval_set(e, {i: Range(0, 8), j: IntSet.interval(0, 3)})
    if isinstance(e, Not):
        assert found.min_value is found.max_value is e
    else:
        assert (str(found.min_value), str(found.max_value)) == (low, high)


def test_sets_of_lanes() -> None:
    for stride, low, high in ((8, n, n + 24), (-1, n - 3, n), (0, n, n)):
        found = IntSet.vector(Ramp(n, const(stride), 4))
        assert deep_equal(found.min_value, low)
        assert deep_equal(found.max_value, high)
    assert ends(eval_set(Ramp(const(0), const(8), 4), {})) == (0, 24)


def test_which_ends_a_set_has() -> None:
    below, above = IntervalSet(neg_inf(), const(3)), IntervalSet(n, pos_inf())
    assert not below.is_everything()
    assert not above.is_everything()
    assert IntSet.interval(4, 4).is_single_point()
    assert IntervalSet(pos_inf(), const(3)).is_nothing()
    assert IntervalSet(const(3), neg_inf()).is_nothing()
    assert union_lower_bound([below, IntervalSet(const(5), pos_inf())]) is below


def test_linear_equation() -> None:
    assert [e.value for e in detect_linear_equation((i - 2 - 4) * 5, [i])] == [5, -30]
    assert [e.value for e in detect_linear_equation(5 * (i - 2), [i])] == [5, -10]
    found = detect_linear_equation(i * 4 + j * n + m + 1, [i, j])
    assert found[0].value == 4
    assert found[1] is n
    assert deep_equal(found[2], m + 1)
    assert detect_linear_equation(i * i, [i]) == []
    assert detect_linear_equation(i // 2, [i]) == []
    assert detect_linear_equation(i * j, [i, j]) == []
    assert [e.value for e in detect_linear_equation((i - j) * 3 + 5, [i, j])] == [3, -3, 5]
    assert [e.value for e in detect_linear_equation(const(7), [i])] == [0, 7]


def test_clip_bound() -> None:
    condition = And(And(i < n, likely(i >= 3)), And(j <= 5, And(j >= 2, j < 10)))
    low_i, high_i, low_j, high_j = detect_clip_bound(condition, [i, j])
    assert low_i.value == 3
    assert deep_equal(high_i, n - 1)
    assert (low_j.value, high_j.value) == (2, 5)
    assert detect_clip_bound(i < n, [i, j])[0] is None
    assert deep_equal(detect_clip_bound(i * 2 <= n, [i])[1], n // 2)
    assert detect_clip_bound((i * 2).equal(n), [i]) == []
    assert detect_clip_bound(i * n < 4, [i]) == []
    assert detect_clip_bound(i < j, [i, j]) == []
    assert detect_clip_bound(const(True), [i]) == [None, None]
    assert [e.value for e in detect_clip_bound(i.equal(2), [i])] == [2, 2]
    for condition in (const(False), i != 3, i % n < 4, i * 2 >= i % -2, i * 2 <= j + i * 2):
        assert detect_clip_bound(condition, [i]) == [], condition


@pytest.mark.parametrize(
    ("condition", "low", "high"),
    [
        (i * 4 + j < 100, None, 24),
        (i * 4 + j >= 10, 3, None),
        (10 - i >= 2, None, 8),
        (10 - i // 3 >= 2, None, 26),
        (i * -2 > 6, None, -4),
        (const(5) < i, 6, None),
        ((i + 3) * 8 <= j + 64, None, 5),
    ],
)
def test_deduced_bound(condition: PrimExpr, low: int | None, high: int | None) -> None:
    found = deduce_bound(i, condition, {}, {j: IntSet.interval(0, 3)})
    assert (None if found.min_value is neg_inf() else found.min_value.value) == low
    assert (None if found.max_value is pos_inf() else found.max_value.value) == high


def test_nothing_can_be_deduced() -> None:
    assert deduce_bound(i, j < 3, {}, {}).is_nothing()
    assert deduce_bound(i, i * i < 3, {}, {}).is_nothing()
    assert deduce_bound(i, i * n < 3, {}, {}).is_nothing()
    assert deduce_bound(i, i % 4 < 3, {}, {}).is_nothing()
    assert deduce_bound(i, (i + i).equal(2), {}, {}).is_nothing()
    assert deduce_bound(i, Mul(i, const(0)) < 1, {}, {}).is_nothing()
    assert deduce_bound(i, (i // 2).equal(n), {}, {}).is_nothing()
    for kind, low, high in ((LT, 0, 5), (GE, 0, 5), (LT, -5, 0), (GE, -5, 0), (LT, -5, 5)):
        for divided in (i // n, i * n):
            assert deduce_bound(i, kind(divided, const(3)), {n: IntSet.interval(low, high)}, {}).is_nothing()


@examples(100)
@given(
    st.sampled_from([LT, LE, GT, GE, EQ]),
    st.sampled_from([-4, -3, -1, 1, 2, 5]),
    st.sampled_from([1, 2, 3]),
    st.integers(-3, 3),
    st.integers(-20, 20),
    st.booleans(),
)
def test_the_condition_holds_on_what_is_deduced(
    kind: type[BinaryOp], factor: int, divisor: int, other: int, limit: int, swap: bool
) -> None:
    side: PrimExpr = (x // divisor) * factor + y * other
    condition = kind(const(limit), side) if swap else kind(side, const(limit))
    found = deduce_bound(x, condition, {}, {y: IntSet.interval(0, 7)})
    assume(not found.is_nothing())
    for a, b in itertools.product(range(-40, 40), range(8)):
        values = {"x": a, "y": b}
        above = found.min_value is neg_inf() or a >= evaluate(found.min_value, values)
        below = found.max_value is pos_inf() or a <= evaluate(found.max_value, values)
        if above and below:
            assert evaluate(condition, values), f"{written(condition)} at {values}: {found}"


BOUNDS_ON_X = st.builds(
    lambda kind, sign, shift, factor, other, swap: (
        kind(other, x * sign + shift + z * factor) if swap else kind(x * sign + shift + z * factor, other)
    ),
    st.sampled_from([LT, LE, GT, GE, EQ]),
    st.sampled_from([1, -1, 2, -3]),
    st.integers(-5, 5),
    st.integers(-2, 2),
    st.sampled_from([w, z, const(4)]),
    st.booleans(),
)


@examples(80)
@given(st.lists(BOUNDS_ON_X, min_size=1, max_size=3), ASSIGNMENTS)
def test_clip_bounds_are_the_condition(conditions: list[PrimExpr], values: dict[str, int]) -> None:
    condition = all_of(*conditions)
    found = detect_clip_bound(condition, [x])
    if not found:
        assert any(isinstance(c, EQ) for c in conditions)
        return
    low, high = found
    above = low is None or values["x"] >= evaluate(low, values)
    below = high is None or values["x"] <= evaluate(high, values)
    assert (above and below) == bool(evaluate(condition, values)), written(condition)


def test_infinite_bounds_stay_infinite() -> None:
    x, y = tvm.te.var("x", "int64"), tvm.te.var("y", "int64")
    analyzer = tvm.arith.Analyzer()
    analyzer.update(x, tvm.arith.ConstIntBound(0, tvm.arith.ConstIntBound.POS_INF))
    analyzer.update(y, tvm.arith.ConstIntBound(1, 10))
    assert tuple(analyzer.const_int_bound(x - y)) == (-10, tvm.arith.ConstIntBound.POS_INF)
    assert tuple(analyzer.const_int_bound(y - x)) == (tvm.arith.ConstIntBound.NEG_INF, 10)
    for _ in range(200):
        y = y * y
    assert tuple(analyzer.const_int_bound(y)) == (1, tvm.arith.ConstIntBound.POS_INF)


@pytest.mark.parametrize("divisor", [-5, -2, -1, 2, 5])
@pytest.mark.parametrize("limit", [-3, 0, 8])
@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_the_bound_of_a_quotient_is_exact(compare: Callable[[Any, Any], Any], limit: int, divisor: int) -> None:
    bound = deduce_bound(i, compare(i // divisor, limit), {}, {})
    low = bound.min_value.value if bound.has_lower_bound() else -1000
    high = bound.max_value.value if bound.has_upper_bound() else 1000
    assert [a for a in range(-200, 200) if low <= a <= high] == [
        a for a in range(-200, 200) if compare(a // divisor, limit)
    ]


def test_the_ends_of_intervals() -> None:
    bounds = ConstIntBoundAnalyzer()
    assert bounds.visit(Var("long", "int64")) == EVERYTHING
    assert bounds.visit(Var("long", "uint64")) == (0, UNBOUNDED)
    bounds.variables |= {x: (0, 3), y: (1, 8), z: (0, 0)}
    assert bounds.visit(FloorMod(x, y)) == (0, 3)
    lanes = 4 * tvm.tir.vscale()
    assert bounds.visit(Ramp(x, z, lanes)) == (0, 3)
    assert bounds.visit(Ramp(x, y, lanes))[1] > 1 << 30, "a scalable vector has any number of lanes"


@pytest.mark.parametrize(
    ("number", "low", "known"),
    [
        (tvm.tir.ceil(tvm.tir.log2(Cast("float32", x))), 1, True),
        (tvm.tir.ceil(tvm.tir.log2(Cast("float32", x))), 0, False),
        (tvm.tir.floor(tvm.tir.log2(Cast("float32", x))), 1, False),
        (tvm.tir.ceil(Cast("float32", x)), 1, False),
        (tvm.tir.ceil(tvm.tir.log2(Var("f", "float32"))), 1, False),
        (tvm.tir.ceil(tvm.tir.log2(Cast("float32", Var("d", "float64")))), 1, False),
        (Var("f", "float32"), 1, False),
    ],
)
def test_a_conversion_of_a_rounded_logarithm_of_positive_integers_is_bounded(
    number: PrimExpr, low: int, known: bool
) -> None:
    analyzer = Analyzer()
    analyzer.update(x, ConstIntBound(low, 5))
    bound = tuple(analyzer.const_int_bound(Cast("int32", number)))
    assert bound == ((0, 3) if known else (-(1 << 31), (1 << 31) - 1))


@pytest.mark.parametrize(
    ("e", "coeff", "base"),
    [
        (x >> 1, 4, 2),
        (x >> 2, 2, 1),
        (x >> 3, 1, 0),
        (x >> 31, 1, 0),
        (x & 7, 0, 4),
        (x & 15, 8, 4),
        (x & 8, 1, 0),
        (Cast("int64", x), 8, 4),
        (Cast("int32", x), 8, 4),
        (Cast("int16", x), 1, 0),
        (truncdiv(x, const(4)), 1, 0),
        (truncdiv(y * 8 + 4, const(4)), 2, 1),
        (FloorMod(x, const(0)), 1, 0),
        (FloorDiv(x, const(0)), 1, 0),
        (Div(x, const(0)), 1, 0),
        (if_then_else(y < 3, x, 2), 2, 0),
    ],
)
def test_congruences(e: PrimExpr, coeff: int, base: int) -> None:
    """Of ``x = 8 k + 4``, of either sign, and ``y``, which is not negative."""
    analyzer = Analyzer()
    analyzer.update(x, ModularSet(8, 4))
    analyzer.update(y, ConstIntBound(0, 5))
    assert analyzer.exact_modular_set(e) == ModularSet(coeff, base)


@pytest.mark.parametrize(("shift", "known"), [(-1, False), (0, True), (31, True), (32, False)])
def test_a_number_is_shifted_by_less_bits_than_it_has(shift: int, known: bool) -> None:
    analyzer = Analyzer()
    analyzer.update(x, ModularSet(0, 5))
    analyzer.update(y, ModularSet(0, shift))
    assert analyzer.exact_modular_set(x >> y) == (ModularSet(0, 5 >> shift) if known else ModularSet(1, 0))


def test_truth_of_integers_is_known_where_zero_is_one_of_them_or_none() -> None:
    x = Var("x")
    for low, high, truth in ((-4, 5, (0, 1)), (3, 9, (1, 1)), (-9, -1, (1, 1)), (0, 0, (0, 0))):
        analyzer = Analyzer()
        analyzer.update(x, ConstIntBound(low, high))
        assert analyzer.const_int_bound(Cast("int32", Cast("bool", x))) == truth
    assert str(ConstIntBound(ConstIntBound.NEG_INF, 5)) == "ConstIntBound[neg_inf,5]"


def test_equal_means_the_same_type_function_and_operands() -> None:
    a, b, wide = Var("a"), Var("b"), Var("wide", "int64")
    unequal = [
        (const(3), const(3, "int64")),
        (const(3), const(4)),
        (a, b),
        (a + 1, a + const(2)),
        (a + 1, a - 1),
        (wide + const(1, "int64"), wide + const(2, "int64")),
        (tvm.tir.exp(a.astype("float32")), tvm.tir.sqrt(a.astype("float32"))),
        (tvm.tir.exp(a.astype("float32")), tvm.tir.exp(b.astype("float32"))),
        (tvm.tir.reinterpret("uint64", wide), tvm.tir.reinterpret("float64", wide)),
        (tvm.tir.call_extern("int32", "f", a), tvm.tir.call_extern("int32", "g", a)),
        (tvm.tir.call_extern("int32", "f", a), tvm.tir.call_extern("int32", "f", a, b)),
        (a.astype("int64"), a.astype("int16")),
        (const(0.0), const(-0.0)),
        (Ramp(a, b, 4), Ramp(a, b, 8)),
    ]
    for left, right in unequal:
        assert deep_equal(left, left), left
        assert not deep_equal(left, right), (left, right)
        inside = [tvm.tir.call_extern("int32", "f", left, other) for other in (left, right)]
        assert not deep_equal(*inside), (left, right)
    for again in (lambda: const(float("nan")), lambda: const(1.5), lambda: tvm.tir.call_extern("int32", "f", a + 1)):
        assert deep_equal(again(), again())


def test_a_union_whose_members_all_belong_to_a_set() -> None:
    """Of sets that overlap or are neighbours; of others it is the first."""

    def interval(low: PrimExpr | int | None, high: PrimExpr | int | None) -> IntervalSet:
        ends = neg_inf() if low is None else low, pos_inf() if high is None else high
        return IntervalSet(*(e if isinstance(e, PrimExpr) else const(e) for e in ends))

    for first, second, expected in (
        (interval(0, 3), interval(4, 9), (0, 9)),
        (interval(4, 9), interval(0, 3), (0, 9)),
        (interval(0, 3), interval(5, 9), (0, 3)),
        (interval(5, 9), interval(0, 3), (5, 9)),
        (interval(0, 3), interval(2, 2), (0, 3)),
        (interval(None, 3), interval(4, 9), (None, 9)),
        (interval(None, 3), interval(5, 9), (None, 3)),
        (interval(0, None), interval(-5, -1), (-5, None)),
        (interval(0, None), interval(-5, -2), (0, None)),
        (interval(None, 3), interval(2, None), (None, None)),
    ):
        result = union_lower_bound([first, second])
        low = None if result.min_value is neg_inf() else result.min_value.value
        assert (low, None if result.max_value is pos_inf() else result.max_value.value) == expected, (first, second)


@pytest.mark.parametrize("ends", [(0, 3, 3, 5), (0, 3, 4, 9), (3, 3, 3, 3)])
def test_an_intersection_is_empty_only_where_no_member_is_shared(ends: tuple[int, int, int, int]) -> None:
    a, b, c, d = ends
    both = intersect([IntSet.interval(a, b), IntSet.interval(c, d)])
    assert both.is_nothing() == (max(a, c) > min(b, d))
    nothing = IntSet.nothing()
    assert not any((nothing.has_lower_bound(), nothing.has_upper_bound(), nothing.is_bounded()))
    assert not IntSet.interval(a, pos_inf()).is_bounded()
    assert not IntSet.interval(neg_inf(), b).is_bounded()


@pytest.mark.parametrize("kind", [LT, LE, GT, GE])
@pytest.mark.parametrize("number_first", [False, True])
@pytest.mark.parametrize("number", [-3, 0, 4, 9, 12])
def test_a_choice_by_a_variable_is_bounded_by_what_each_part_can_be(
    kind: type[BinaryOp], number_first: bool, number: int
) -> None:
    i, n = Var("i", "int32"), const(number, "int32")
    analyzer = Analyzer()
    analyzer.bind(i, Range(0, 10))
    condition = kind(n, i) if number_first else kind(i, n)
    compare = {LT: operator.lt, LE: operator.le, GT: operator.gt, GE: operator.ge}[kind]
    holds = [compare(number, v) if number_first else compare(v, number) for v in range(10)]
    values = [20 - v if taken else 3 * v for v, taken in zip(range(10), holds, strict=True)]
    for choice in (tvm.tir.if_then_else(condition, 20 - i, i * 3), tvm.tir.Select(condition, 20 - i, i * 3)):
        assert analyzer.const_int_bound(choice) == ConstIntBound(min(values), max(values))
    assert analyzer.const_int_bound(i) == ConstIntBound(0, 9)


def test_reflected_indices_need_no_check() -> None:
    a = tvm.te.placeholder((9,), name="a")

    def reflected(i: PrimExpr) -> PrimExpr:
        return tvm.tir.if_then_else(i < 2, 2 - i, tvm.tir.if_then_else(i >= 11, 18 - i, i - 2))

    b = tvm.te.compute((13,), lambda i: a[reflected(i)], name="b")
    assert "0 <=" not in str(tvm.lower(tvm.te.create_schedule(b.op), [a, b]))


@pytest.mark.parametrize("bits", [operator.or_, operator.xor])
def test_bits_of_numbers_that_are_not_negative_have_an_interval(bits: Callable[[Any, Any], Any]) -> None:
    x, y = Var("x", "int32"), Var("y", "int32")
    for (low, extent), (first, count) in itertools.product([(0, 1), (3, 5), (0, 8), (6, 11)], repeat=2):
        values = [bits(a, b) for a in range(low, low + extent) for b in range(first, first + count)]
        domains = {x: Range.from_min_extent(low, extent), y: Range.from_min_extent(first, count)}
        interval = eval_set(bits(x, y), domains)
        assert interval.min_value.value <= min(values)
        assert max(values) <= interval.max_value.value < 2 * max(low + extent, first + count)
        analyzer = Analyzer()
        for var, domain in domains.items():
            analyzer.bind(var, domain)
        bound = analyzer.const_int_bound(bits(x, y))
        assert bound.min_value <= min(values) <= max(values) <= bound.max_value < 2 * max(low + extent, first + count)
    assert not eval_set(bits(x - 1, y), {x: Range.from_min_extent(0, 4), y: Range.from_min_extent(0, 4)}).is_bounded()
