"""Rules for ``+``, ``-`` and ``*`` on integers that do not overflow."""

from __future__ import annotations

from compiler.arith.pattern import Rule

ADD: list[Rule] = [
    ("x + 0", "x"),
    # constants move to the right and merge
    ("(x + c1) + c2", "x + (c1 + c2)"),
    ("(c1 - x) + c2", "(c1 + c2) - x"),
    ("(x + c1) + y", "(x + y) + c1"),
    ("(c1 - x) + y", "(y - x) + c1"),
    # terms that cancel
    ("(x - y) + y", "x"),
    ("(x - y) + (y - z)", "x - z"),
    ("(x - (y + z)) + y", "x - z"),
    ("min(x, y - z) + z", "min(x + z, y)"),
    ("max(x, y - z) + z", "max(x + z, y)"),
    ("min(x, y) + max(x, y)", "x + y"),
    ("min(x, y + z * c1) + z * c2", "min(x + z * c2, y)", "c1 == -c2"),
    ("max(x, y + z * c1) + z * c2", "max(x + z * c2, y)", "c1 == -c2"),
    ("min(x, z * c1) + z * c2", "min(x + z * c2, 0)", "c1 == -c2"),
    ("max(x, z * c1) + z * c2", "max(x + z * c2, 0)", "c1 == -c2"),
    # common factors
    ("x + x", "x * 2"),
    ("x * c1 + x", "x * (c1 + 1)"),
    ("x * c1 + x * c2", "x * (c1 + c2)"),
    ("x * y + x", "x * (y + 1)"),
    ("x * y + x * z", "x * (y + z)"),
    ("(y + x * c1) + x * c2", "y + x * (c1 + c2)"),
    ("(y + x * c1) + x", "y + x * (c1 + 1)"),
    ("x + y * c1", "x - y * (0 - c1)", "c1 < 0"),
    # a quotient and its remainder make a whole
    ("(x // y) * y + x % y", "x"),
    ("(z + (x // y) * y) + x % y", "z + x"),
    ("truncdiv(x, c1) * c1 + truncmod(x, c1)", "x"),
]

SUB: list[Rule] = [
    ("x - 0", "x"),
    ("x - x", "0"),
    ("(x + y) - y", "x"),
    ("x - (x + y)", "0 - y"),
    ("(x + y) - (x + z)", "y - z"),
    ("(x - y) - x", "0 - y"),
    ("x - (x - y)", "y"),
    ("(x - y) - (x - z)", "z - y"),
    ("(x - y) - (z - y)", "x - z"),
    ("((x + y) + z) - x", "y + z"),
    ("x - ((x + y) + z)", "0 - (y + z)"),
    # constants move to the right and merge
    ("x - c1", "x + (0 - c1)"),
    ("(x + c1) - (y + c2)", "(x - y) + (c1 - c2)"),
    ("(c1 - x) - (c2 - y)", "(y - x) + (c1 - c2)"),
    ("c2 - (x + c1)", "(c2 - c1) - x"),
    ("c2 - (c1 - x)", "x + (c2 - c1)"),
    ("(x + c1) - y", "(x - y) + c1"),
    ("x - (y + c1)", "(x - y) + (0 - c1)"),
    ("x - (c1 - y)", "(x + y) + (0 - c1)"),
    ("(c1 - x) - y", "c1 - (x + y)"),
    ("x - (y - z)", "(x + z) - y"),
    ("(x - y) - z", "x - (y + z)"),
    # common factors
    ("x * c1 - x", "x * (c1 - 1)"),
    ("x - x * c1", "x * (1 - c1)"),
    ("x * c1 - x * c2", "x * (c1 - c2)"),
    ("x * y - x", "x * (y - 1)"),
    ("x - x * y", "x * (1 - y)"),
    ("x * y - x * z", "x * (y - z)"),
    ("(y + x * c1) - x * c2", "y + x * (c1 - c2)"),
    ("(y + x * c1) - x", "y + x * (c1 - 1)"),
    ("(y + x) - x * c1", "y + x * (1 - c1)"),
    ("(y + x * c1) - (z + x * c2)", "(y - z) + x * (c1 - c2)"),
    ("(y + x) - (z + x * c2)", "(y - z) + x * (1 - c2)"),
    ("(y + x * c1) - (z + x)", "(y - z) + x * (c1 - 1)"),
    ("x - y * c1", "x + y * (0 - c1)", "c1 < 0"),
    # quotients and remainders
    ("x - (x // y) * y", "x % y"),
    ("(x // c1) * c1 - x", "0 - x % c1", "c1 != 0"),
    ("x - x % c1", "(x // c1) * c1", "c1 != 0"),
    ("((x + c1) // c2) * c2 - x", "c1 - (x + c1) % c2", "c2 != 0"),
    ("x - ((x + c1) // c2) * c2", "(x + c1) % c2 - c1", "c2 != 0"),
    ("x - truncdiv(x, c1) * c1", "truncmod(x, c1)", "c1 != 0"),
    ("truncdiv(x, c1) * c1 - x", "0 - truncmod(x, c1)", "c1 != 0"),
    ("(x + c1) // c3 - (x + c2) // c3", "((x + c2 % c3) % c3 + (c1 - c2)) // c3", "c3 > 0 and c1 >= c2"),
    ("(x + c1) // c3 - x // c3", "(x % c3 + c1) // c3", "c3 > 0 and c1 >= 0"),
    # minima and maxima
    ("min(x, y) - x", "min(0, y - x)"),
    ("max(x, y) - x", "max(0, y - x)"),
    ("x - min(x, y)", "max(0, x - y)"),
    ("x - max(x, y)", "min(0, x - y)"),
    ("min(x + y, z) - x", "min(y, z - x)"),
    ("max(x + y, z) - x", "max(y, z - x)"),
    ("min(x + y, z + x) - x", "min(y, z)"),
    ("max(x + y, z + x) - x", "max(y, z)"),
    ("x - min(x + y, z)", "max(0 - y, x - z)"),
    ("x - max(x + y, z)", "min(0 - y, x - z)"),
    ("min(x, y) - min(x, y)", "0"),
    ("max(x, y) - max(x, y)", "0"),
    ("min(x, y) - min(z, w)", "x - z", "equal(x - z, y - w)"),
    ("max(x, y) - max(z, w)", "x - z", "equal(x - z, y - w)"),
]

MUL: list[Rule] = [
    ("x * 0", "0"),
    ("x * 1", "x"),
    ("(x + c1) * c2", "x * c2 + c1 * c2"),
    ("(c1 - x) * c2", "x * (0 - c2) + c1 * c2"),
    ("(x * c1) * c2", "x * (c1 * c2)"),
    ("(x * c1) * y", "(x * y) * c1"),
    ("(x - y) * c1", "(y - x) * (0 - c1)", "c1 < 0"),
    ("min(x, y) * max(x, y)", "x * y"),
]
