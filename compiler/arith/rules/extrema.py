"""Rules for ``min`` and ``max`` on integers that do not overflow."""

from __future__ import annotations

import re
from typing import cast

from compiler.arith.pattern import Rule, fixed, ordered


def _mirrored(rule: Rule) -> Rule:
    """Return a rule in which ``min`` and ``max`` stand for each other."""
    parts = [re.sub("min|max", lambda word: "max" if word[0] == "min" else "min", part) for part in rule]
    kind: type[tuple[str, ...]] = type(rule)
    return cast("Rule", kind(parts))


_OF_BOTH: list[Rule] = [
    ("min(x, x)", "x"),
    ("min(min(x, c1), c2)", "min(x, min(c1, c2))"),
    fixed("min(min(x, c1), y)", "min(min(x, y), c1)"),
    ("min(x + c1, x + c2)", "x + min(c1, c2)"),
    ("min(c1 - x, c2 - x)", "min(c1, c2) - x"),
    ("min(c1 - x, c2)", "c1 - max(x, c1 - c2)", "c2 != 0"),
    ("min(max(x, y), x)", "x"),
    ("min(min(x, y), x)", "min(x, y)"),
    ordered("min(max(x, y), min(x, y))", "min(x, y)"),
    ordered("min(max(x, y), min(y, x))", "min(x, y)"),
    ordered("min(min(x, min(y, z)), y)", "min(x, min(y, z))"),
    ordered("min(min(min(x, y), z), y)", "min(min(x, y), z)"),
    ordered("min(min(min(min(x, y), z), v), y)", "min(min(min(x, y), z), v)"),
    ordered("min(min(min(min(min(x, y), z), v), w), y)", "min(min(min(min(x, y), z), v), w)"),
    ("min(max(x, y), max(x, z))", "max(min(y, z), x)"),
    ("min(min(x, y), min(x, z))", "min(min(y, z), x)"),
    ("min(x + y, x + z)", "min(y, z) + x"),
    ("min(x - y, x - z)", "x - max(y, z)"),
    ("min(y - x, z - x)", "min(y, z) - x"),
    ("min(x * c1, y * c1)", "min(x, y) * c1", "c1 > 0"),
    ("min(x * c1, y * c1)", "max(x, y) * c1", "c1 < 0"),
    ("min(x * c1, c2)", "min(x, c2 // c1) * c1", "c1 > 0 and c2 % c1 == 0"),
    ("min(x * c1, c2)", "max(x, c2 // c1) * c1", "c1 < 0 and c2 % c1 == 0"),
    ("min(x // c1, y // c1)", "min(x, y) // c1", "c1 > 0"),
    ("min(x // c1, y // c1)", "max(x, y) // c1", "c1 < 0"),
    ("min(truncdiv(x, c1), truncdiv(y, c1))", "truncdiv(min(x, y), c1)", "c1 > 0"),
    ("min(truncdiv(x, c1), truncdiv(y, c1))", "truncdiv(max(x, y), c1)", "c1 < 0"),
    ("min(select(x, y, z), select(x, v, w))", "select(x, min(y, v), min(z, w))"),
]
"""Rules that hold for ``max`` as well, mirrored."""

MIN: list[Rule] = [
    *_OF_BOTH,
    ("min(x + c1, x)", "x", "c1 >= 0"),
    ("min(x + c1, x)", "x + c1", "c1 < 0"),
    ("min(max(x, c1), c2)", "c2", "c1 >= c2"),
    ("min(((x + c1) // c2) * c2, x)", "x", "c2 > 0 and c1 + 1 == c2"),
    ("min(truncdiv(x + c1, c2) * c2, x)", "x", "c2 > 0 and c1 + 1 == c2"),
    ("min((x // c2) * c2, x)", "(x // c2) * c2", "c2 > 0"),
    ("min(((x + c1) // c2) * c2, max(x, c2))", "max(x, c2)", "c2 > 0 and c1 + 1 == c2 and low(x) > 0"),
    ("min(truncdiv(x + c1, c2) * c2, max(x, c2))", "max(x, c2)", "c2 > 0 and c1 + 1 == c2 and low(x) > 0"),
]

MAX: list[Rule] = [
    *map(_mirrored, _OF_BOTH),
    ("max(x + c1, x)", "x + c1", "c1 >= 0"),
    ("max(x + c1, x)", "x", "c1 < 0"),
    ("max(min(x, c1), c2)", "c2", "c1 <= c2"),
    ("max(((x + c1) // c2) * c2, x)", "((x + c1) // c2) * c2", "c2 > 0 and c1 + 1 == c2"),
    ("max(truncdiv(x + c1, c2) * c2, x)", "truncdiv(x + c1, c2) * c2", "c2 > 0 and c1 + 1 == c2"),
    ("max((x // c2) * c2, x)", "x", "c2 > 0"),
]
