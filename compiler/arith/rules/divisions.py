"""Rules for quotients and remainders, of both roundings, on integers that do not overflow."""

from __future__ import annotations

from compiler.arith.pattern import Rule

FLOOR_DIV: list[Rule] = [
    ("x // 1", "x"),
    ("0 // x", "0"),
    ("x // x", "1"),
    ("x // c1", "0 - x", "c1 == -1"),
    ("(x // c1) // c2", "x // (c1 * c2)", "c1 > 0 and c2 > 0"),
    ("(x // c1 + c2) // c3", "(x + c1 * c2) // (c1 * c3)", "c1 > 0 and c3 > 0"),
    ("(x * c1) // c2", "x * (c1 // c2)", "c1 % c2 == 0"),
    ("(x * c1) // c2", "x // (c2 // c1)", "c1 > 0 and c2 % c1 == 0"),
    ("(x * c1 + y) // c2", "x * (c1 // c2) + y // c2", "c2 > 0 and c1 % c2 == 0"),
    ("(x * c1 + y) // c2", "x // (c2 // c1)", "c1 > 0 and c2 > 0 and c2 % c1 == 0 and 0 <= low(y) and high(y) < c1"),
    ("((x * c1 + y) + z) // c2", "x * (c1 // c2) + (y + z) // c2", "c2 > 0 and c1 % c2 == 0"),
    ("(x * c1 - y) // c2", "x * (c1 // c2) + (0 - y) // c2", "c2 > 0 and c1 % c2 == 0"),
    ("(y - x * c1) // c2", "y // c2 - x * (c1 // c2)", "c2 > 0 and c1 % c2 == 0"),
    ("(x * c1 + y - z) // c2", "x * (c1 // c2) + (y - z) // c2", "c2 > 0 and c1 % c2 == 0"),
    ("(x + c1) // c2", "x // c2 + c1 // c2", "c2 > 0 and c1 % c2 == 0"),
    ("(c1 - x) // c2", "(0 - x) // c2 + c1 // c2", "c2 > 0 and c1 % c2 == 0 and c1 != 0"),
    ("min(x * c1, y) // c2", "min(x * (c1 // c2), y // c2)", "c2 > 0 and c1 % c2 == 0"),
    ("max(x * c1, y) // c2", "max(x * (c1 // c2), y // c2)", "c2 > 0 and c1 % c2 == 0"),
    ("(x + y) // c1", "y // c1 + x // c1", "c1 > 0 and divisible(y, c1)"),
    ("(x * y) // y", "x"),
    ("(x * y + z) // y", "x + z // y"),
    ("(x * y + x * z) // x", "y + z"),
    ("(x + y) // y", "x // y + 1"),
    ("(x + y) // x", "y // x + 1"),
    ("((x + y) + z) // x", "(y + z) // x + 1"),
    ("((x * y + z) + w) // y", "x + (z + w) // y"),
    ("x // y", "0", "low(x) >= 0 and prove(x < y)"),
]

FLOOR_MOD: list[Rule] = [
    ("0 % x", "0"),
    ("x % x", "0"),
    ("x % 1", "0"),
    ("(x * c1) % c2", "0", "c1 % c2 == 0"),
    ("(x * c1) % c2", "(x % (c2 // c1)) * c1", "c1 > 1 and c2 > 0 and c2 % c1 == 0"),
    ("(x * c1 + y) % c2", "y % c2", "c1 % c2 == 0"),
    ("(y - x * c1) % c2", "y % c2", "c1 % c2 == 0"),
    ("((x * c1 + y) + z) % c2", "(y + z) % c2", "c1 % c2 == 0"),
    (
        "(x * c1 + y) % c2",
        "(x % (c2 // c1)) * c1 + y",
        "c1 > 1 and c2 > 0 and c2 % c1 == 0 and 0 <= low(y) and high(y) < c1",
    ),
    ("(x * c1 + y) % c2", "(x * (c1 % c2) + y) % c2", "c2 > 0 and (c1 >= c2 or c1 < 0)"),
    ("(x * c1) % c2", "(x * (c1 % c2)) % c2", "c2 > 0 and (c1 >= c2 or c1 < 0)"),
    ("(x + c1) % c2", "x % c2", "c1 % c2 == 0"),
    ("(x + c1) % c2", "(x + c1 % c2) % c2", "c2 > 0 and (c1 >= c2 or c1 < 0)"),
    ("(c1 - x) % c2", "(c1 % c2 - x) % c2", "c2 > 0 and (c1 >= c2 or c1 < 0)"),
    ("(x % c1) % c2", "x % c2", "c1 % c2 == 0"),
    ("(x + y) % c1", "x % c1", "c1 > 0 and divisible(y, c1)"),
    ("(x * y) % y", "0"),
    ("(x * y + z) % y", "z % y"),
    ("((x * y + z) + w) % y", "(z + w) % y"),
    ("(x + y) % y", "x % y"),
    ("x % y", "x", "low(x) >= 0 and prove(x < y)"),
]

TRUNC_DIV: list[Rule] = [
    ("truncdiv(x, 1)", "x"),
    ("truncdiv(0, x)", "0"),
    ("truncdiv(x, x)", "1"),
    ("truncdiv(truncdiv(x, c1), c2)", "truncdiv(x, c1 * c2)", "c1 > 0 and c2 > 0"),
    ("truncdiv(x * c1, c2)", "x * truncdiv(c1, c2)", "truncmod(c1, c2) == 0"),
    ("truncdiv(x * c1, c2)", "truncdiv(x, truncdiv(c2, c1))", "c1 != 0 and truncmod(c2, c1) == 0"),
    (
        "truncdiv(x * c1 + y, c2)",
        "x * truncdiv(c1, c2) + truncdiv(y, c2)",
        "c1 >= 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0 and low(y) >= 0",
    ),
    (
        "truncdiv(x + c1, c2)",
        "truncdiv(x, c2) + truncdiv(c1, c2)",
        "c1 > 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0",
    ),
    ("truncdiv(x * y, y)", "x"),
    ("truncdiv(x, c1)", "x // c1", "c1 > 0 and low(x) >= 0"),
]

TRUNC_MOD: list[Rule] = [
    ("truncmod(0, x)", "0"),
    ("truncmod(x, x)", "0"),
    ("truncmod(x, 1)", "0"),
    ("truncmod(x * c1, c2)", "0", "truncmod(c1, c2) == 0"),
    (
        "truncmod(x * c1 + y, c2)",
        "truncmod(y, c2)",
        "c1 >= 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0 and low(y) >= 0",
    ),
    ("truncmod(x + c1, c2)", "truncmod(x, c2)", "c1 >= 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0"),
    ("truncmod(x, c1)", "0", "c1 != 0 and divisible(x, c1)"),
    ("truncmod(x * y, y)", "0"),
    ("truncmod(x, c1)", "x % c1", "c1 > 0 and low(x) >= 0"),
]
