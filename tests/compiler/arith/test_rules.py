"""Every rewrite rule, as it is written in its table, on random integers: both sides are the same number."""

from __future__ import annotations

import ast
import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler.arith.pattern import Rule
from compiler.arith.rules import SCALAR, VECTOR
from compiler.ir.expr.primexpr import trunc_div, trunc_mod

SCALAR_RULES = [pytest.param(r, id=r[0]) for rules in SCALAR.values() for r in rules.rules]
VECTOR_RULES = [pytest.param(r, id=r[0]) for rules in VECTOR.values() for r in rules.rules]
INTERESTING = [-9, -8, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12, 16]
LANES = 4


def names_of(text: str) -> list[str]:
    functions = {"min", "max", "truncdiv", "truncmod", "select", "ramp", "broadcast"}
    found = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    return sorted(found - functions - {"lanes"})


def by_lane(operation: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    """Let an operation on integers take vectors, too."""

    def apply(a: Any, b: Any) -> Any:
        if not isinstance(a, np.ndarray):
            return operation(a, b)
        return np.array([operation(int(x), int(y)) for x, y in zip(a, b, strict=True)])

    return apply


QUESTIONS = {
    "low": lambda x: x,
    "high": lambda x: x,
    "divisible": lambda x, c: x % c == 0,
    "is_ordered": lambda x: True,
    "varies": lambda x: True,
    "is_reducible": lambda x, c: x % c != x,
    "select": lambda condition, a, b: a if condition else b,
    "within_block": lambda x, d, c: x // c == (x + d) // c,
    "prove": bool,
    "equal": lambda a, b: a == b,
    "truncdiv": by_lane(trunc_div),
    "truncmod": by_lane(trunc_mod),
}
VECTORS = {
    **QUESTIONS,
    "lanes": LANES,
    "ramp": lambda base, stride, lanes: base + stride * np.arange(lanes),
    "broadcast": lambda value, lanes: np.full(lanes, value),
    "min": np.minimum,
    "max": np.maximum,
}


def assignments(rule: Rule) -> Any:
    """Yield values for the names of a rule: all combinations of a few, then random ones of many."""
    names = names_of(rule[0])
    rng = random.Random(rule[0])
    if len(names) <= 2:
        yield from (dict(zip(names, v, strict=True)) for v in itertools.product(range(-13, 14), repeat=len(names)))
    for _ in range(1500):
        yield {name: rng.choice(INTERESTING) for name in names}


def check(rule: Rule, environment: dict[str, Any]) -> int:
    """Compare both sides wherever the rule applies; return how often it did."""
    left, right = (compile(text, "<rule>", "eval") for text in rule[:2])
    condition = compile(rule[2] if len(rule) == 3 else "True", "<rule>", "eval")
    count = 0
    for values in assignments(rule):
        try:
            before = eval(left, dict(environment), values)
            if not eval(condition, dict(environment), values):
                continue
        except (ZeroDivisionError, FloatingPointError):
            continue
        after = eval(right, dict(environment), values)
        assert np.array_equal(_value(before), _value(after)), (rule, values, before, after)
        count += 1
    return count


def _value(v: Any) -> Any:
    return bool(v) if isinstance(v, (bool, np.bool_)) else v


@pytest.mark.parametrize("rule", SCALAR_RULES)
def test_scalar_rule(rule: Rule) -> None:
    if _is_logic(rule):
        rule = tuple(rule)  # the operands are conditions: compare truth, not which operand decides it
        rule = (f"not not ({rule[0]})", f"not not ({rule[1]})", *rule[2:])
    assert check(rule, QUESTIONS) > 3


def _is_logic(rule: Rule) -> bool:
    tree = ast.parse(rule[0], mode="eval").body
    return isinstance(tree, ast.BoolOp)


@pytest.mark.parametrize("rule", [p for p in VECTOR_RULES if not _is_logic(p.values[0])])
def test_vector_rule(rule: Rule) -> None:
    with np.errstate(divide="raise"):
        assert check(rule, VECTORS) > 3
