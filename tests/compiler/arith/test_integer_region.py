"""Regions of integers, each answer against every point of a small box."""

from __future__ import annotations

import itertools
import random
from functools import reduce

import pytest

from compiler.arith.integer_region import MAX_INEQUALITIES, MAX_PARTS, Region, certain_region, possible_region
from compiler.arith.linear.linear_form import Atom
from compiler.ir.expr.primexpr import And, FloorDiv, FloorMod, IntImm, Not, Or, PrimExpr, Var, const

x, y, z = (Var(name) for name in "xyz")
BOX = range(-4, 6)
INSIDE = And(And(And(x >= -4, x < 6), And(y >= -4, y < 6)), And(z >= -4, z < 6))


def _points(condition: PrimExpr) -> set[tuple[int, int, int]]:
    return {point for point in itertools.product(BOX, BOX, BOX) if _value(condition, point)}


def _value(e: PrimExpr, point: tuple[int, int, int]) -> int:
    """Evaluate by hand: the reference must not be the simplifier."""
    names = dict(zip((x, y, z), point, strict=True))
    if isinstance(e, Var):
        return names[e]
    if isinstance(e, IntImm):
        return e.value
    if isinstance(e, Not):
        return not _value(e.a, point)
    a, b = _value(e.a, point), _value(e.b, point)  # type: ignore[attr-defined]
    return _OPERATIONS[type(e).__name__](a, b)


_OPERATIONS = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "And": lambda a, b: a and b,
    "Or": lambda a, b: a or b,
}


def _sum(choose: random.Random) -> PrimExpr:
    a, b = choose.sample([x, y, z], 2)
    return choose.choice(
        [a + choose.randint(-2, 2), a + b, a - b * 2, a * 3, FloorDiv(a, const(3)), FloorMod(a + b, const(2)), a * b]
    )


def _condition(choose: random.Random, depth: int) -> PrimExpr:
    if depth == 0:
        a, b = _sum(choose), choose.choice([_sum(choose), const(choose.randint(-3, 4))])
        return choose.choice([a < b, a <= b, a.equal(b), a != b, a >= b, a > b])
    if choose.random() < 0.2:
        return Not(_condition(choose, depth - 1))
    return choose.choice([And, Or])(_condition(choose, depth - 1), _condition(choose, depth - 1))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_answered_is_true_of_every_point(seed: int) -> None:
    choose = random.Random(seed)
    a, b = _condition(choose, 2), _condition(choose, choose.randint(0, 1))
    in_a, in_b = _points(a), _points(b)
    box = possible_region(INSIDE)
    if certain_region(b).covers(possible_region(a) & box):
        assert in_a <= in_b
    if (possible_region(a) & box).is_empty():
        assert not in_a
    if certain_region(Not(b)).covers(possible_region(a) & box):
        assert not in_a & in_b
    rest = possible_region(a).minus(certain_region(b), unknown=True)
    if (rest & box).is_empty():
        assert in_a <= in_b


@pytest.mark.parametrize("seed", range(30))
def test_a_projection_covers_the_points(seed: int) -> None:
    condition = _condition(random.Random(seed), 2)
    shadow = possible_region(And(condition, INSIDE)).without([z])
    for a, b in {point[:2] for point in _points(condition)}:
        at_point = shadow.substitute({x: const(a), y: const(b)}, unknown=True)
        assert not at_point.is_empty(), (a, b, condition)


@pytest.mark.parametrize(
    ("assumed", "follows", "expected"),
    [
        (And(x < y, y < z), x < z, True),
        (And(x <= y + 5, y <= z + 7), x <= z + 12, True),
        (And(x <= y + 5, y <= z + 7), x <= z + 11, False),
        (And(x < y + 5, y < z + 7), x < z + 11, True),
        (And(x < y + 5, y < z + 7), x < z + 10, False),
        (And(x.equal(y), y != z), x != z, True),
        (Or(x < 3, x > 18), x != 5, True),
        (FloorDiv(x, const(4)).equal(2), And(x >= 8, x < 12), True),
        ((x * 2).equal(y * 2 + 1), x < -100, True),  # nothing is even and odd
    ],
)
def test_what_follows(assumed: PrimExpr, follows: PrimExpr, expected: bool) -> None:
    assert certain_region(follows).covers(possible_region(assumed)) == expected


def test_what_regions_say_of_themselves() -> None:
    (part,) = possible_region(x > 1).parts
    assert [part.uses(var) for var in (x, y, z)] == [True, False, False]
    (part,) = possible_region(x.equal(FloorMod(y, x))).parts
    assert [part.uses(var) for var in (x, y, z)] == [True, True, False]
    assert possible_region(x > 1) == possible_region(x >= 2)
    assert possible_region(x > 1) != possible_region(x >= 1)
    assert possible_region(x > 1) != (x > 1)
    assert possible_region(And(x > 1, x < 2)).is_empty()
    assert not possible_region(Or(x > 1, And(x > 1, x < 2))).is_empty()
    assert Atom(x) == Atom(x)
    assert Atom(x) != Atom(y)
    assert Atom(x) != x.name


def test_a_region_of_many_parts_or_inequalities_is_not_decided() -> None:
    """Whatever the limits are: beyond them nothing is claimed, up to them it is."""
    many = [Var(f"v{i}") for i in range(MAX_INEQUALITIES - 1)]
    impossible = And(x < y, y < x)
    assert possible_region(impossible).is_empty()
    assert not possible_region(reduce(And, [v > y for v in many], impossible)).is_empty()
    assert possible_region(reduce(And, [v > y for v in many[1:]], impossible)).is_empty()

    line = possible_region(And(x >= 0, x < 3 * MAX_PARTS + 9))
    whole = [possible_region(And(x >= 3 * i, x < 3 * i + 3)).parts[0] for i in range(MAX_PARTS + 3)]
    for count in (MAX_PARTS - 1, MAX_PARTS):  # points inside of the line leave one piece more than they are
        points = [possible_region(x.equal(3 * i + 1)).parts[0] for i in range(count)]
        assert not Region(points).covers(line)
        assert Region([*points, *whole]).covers(line) is (count < MAX_PARTS)


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (x.equal(y + 2), y + 2),
        (And(x * 4 <= y, y < x * 4 + 4), FloorDiv(y, const(4))),
        (x < y, None),
        (x.equal(FloorMod(y, x)), None),
    ],
)
def test_the_solution_for_a_variable(condition: PrimExpr, value: PrimExpr | None) -> None:
    (part,) = possible_region(condition).parts
    solution = part.solution(x)
    assert (solution is None) == (value is None)
    for point in itertools.product(BOX, BOX, BOX) if solution is not None and value is not None else ():
        assert _value(solution, point) == _value(value, point)
