"""Rules for ``min`` and ``max`` on integers that do not overflow; those of ``max`` mirror those of ``min``."""

from __future__ import annotations

from compiler.arith.pattern import Rule

MIN: list[Rule] = [
    ("min(x, x)", "x"),
    ("min(min(x, c1), c2)", "min(x, min(c1, c2))"),
    ("min(x + c1, x)", "x", "c1 >= 0"),
    ("min(x + c1, x)", "x + c1", "c1 < 0"),
    ("min(x + c1, x + c2)", "x + min(c1, c2)"),
    ("min(c1 - x, c2 - x)", "min(c1, c2) - x"),
    ("min(max(x, y), x)", "x"),
    ("min(max(x, y), min(x, y))", "min(x, y)"),
    ("min(min(x, y), x)", "min(x, y)"),
    ("min(min(min(x, y), z), y)", "min(min(x, y), z)"),
    ("min(max(x, c1), c2)", "max(min(x, c2), c1)", "c1 <= c2"),
    ("min(max(x, c1), c2)", "c2", "c1 >= c2"),
    ("min(max(x, y), max(x, z))", "max(min(y, z), x)"),
    ("min(min(x, y), min(x, z))", "min(min(y, z), x)"),
    ("min(x + y, x + z)", "x + min(y, z)"),
    ("min(x - y, x - z)", "x - max(y, z)"),
    ("min(y - x, z - x)", "min(y, z) - x"),
    ("min(x * c1, y * c1)", "min(x, y) * c1", "c1 > 0"),
    ("min(x * c1, y * c1)", "max(x, y) * c1", "c1 < 0"),
    ("min(x * c1, c2)", "min(x, c2 // c1) * c1", "c1 > 0 and c2 % c1 == 0"),
    ("min(x // c1, y // c1)", "min(x, y) // c1", "c1 > 0"),
    ("min(((x + c1) // c2) * c2, x)", "x", "c2 > 0 and c1 + 1 == c2"),
    ("min((x // c2) * c2, x)", "(x // c2) * c2", "c2 > 0"),
    ("min(((x + c1) // c2) * c2, max(x, c2))", "max(x, c2)", "c2 > 0 and c1 + 1 == c2 and low(x) > 0"),
]

MAX: list[Rule] = [
    ("max(x, x)", "x"),
    ("max(max(x, c1), c2)", "max(x, max(c1, c2))"),
    ("max(x + c1, x)", "x + c1", "c1 >= 0"),
    ("max(x + c1, x)", "x", "c1 < 0"),
    ("max(x + c1, x + c2)", "x + max(c1, c2)"),
    ("max(c1 - x, c2 - x)", "max(c1, c2) - x"),
    ("max(min(x, y), x)", "x"),
    ("max(max(x, y), min(x, y))", "max(x, y)"),
    ("max(max(x, y), x)", "max(x, y)"),
    ("max(max(max(x, y), z), y)", "max(max(x, y), z)"),
    ("max(min(x, c1), c2)", "c2", "c1 <= c2"),
    ("max(min(x, y), min(x, z))", "min(max(y, z), x)"),
    ("max(max(x, y), max(x, z))", "max(max(y, z), x)"),
    ("max(x + y, x + z)", "x + max(y, z)"),
    ("max(x - y, x - z)", "x - min(y, z)"),
    ("max(y - x, z - x)", "max(y, z) - x"),
    ("max(x * c1, y * c1)", "max(x, y) * c1", "c1 > 0"),
    ("max(x * c1, y * c1)", "min(x, y) * c1", "c1 < 0"),
    ("max(x * c1, c2)", "max(x, c2 // c1) * c1", "c1 > 0 and c2 % c1 == 0"),
    ("max(x // c1, y // c1)", "max(x, y) // c1", "c1 > 0"),
    ("max(((x + c1) // c2) * c2, x)", "((x + c1) // c2) * c2", "c2 > 0 and c1 + 1 == c2"),
    ("max((x // c2) * c2, x)", "x", "c2 > 0"),
]
