"""Rules for comparisons of integers that do not overflow.

``>``, ``>=``, ``<=`` and ``!=`` are brought to ``<``, ``==`` and their negations before rules are tried.
"""

from __future__ import annotations

from compiler.arith.pattern import Rule

LT: list[Rule] = [
    ("x < x", "False"),
    ("x + y < x + z", "y < z"),
    ("x + y < x", "y < 0"),
    ("x < x + y", "0 < y"),
    ("y - x < z - x", "y < z"),
    ("x - y < x - z", "z < y"),
    ("x - y < x", "0 < y"),
    ("x < x - y", "y < 0"),
    # constants move to the right, or to the left where they are the smaller side
    ("x + c1 < c2", "x < c2 - c1"),
    ("c1 < x + c2", "c1 - c2 < x"),
    ("c1 - x < c2", "c1 - c2 < x"),
    ("c1 < c2 - x", "x < c2 - c1"),
    ("x + c1 < y + c2", "x + (c1 - c2) < y", "c1 > c2"),
    ("x + c1 < y + c2", "x < y + (c2 - c1)", "c1 <= c2"),
    ("x + c1 < y", "x < y + (0 - c1)", "c1 < 0"),
    ("x < y + c1", "x + (0 - c1) < y", "c1 < 0"),
    ("x < y + 1", "x <= y"),
    # factors
    ("x * c1 < y * c1", "x < y", "c1 > 0"),
    ("x * c1 < y * c1", "y < x", "c1 < 0"),
    ("x * c1 < c2", "x < (c2 - 1) // c1 + 1", "c1 > 0"),
    ("x * c1 < c2", "c2 // c1 < x", "c1 < 0"),
    ("c1 < x * c2", "c1 // c2 < x", "c2 > 0"),
    ("x * c1 + y < c2", "x < c2 // c1", "c1 > 1 and c2 % c1 == 0 and 0 <= low(y) and high(y) < c1"),
    ("x * c1 + y < z * c1", "x < z", "c1 > 1 and 0 <= low(y) and high(y) < c1"),
    ("c2 < x * c1 + y", "c2 // c1 < x", "c1 > 1 and (c2 + 1) % c1 == 0 and 0 <= low(y) and high(y) < c1"),
    # quotients
    ("x // c1 < c2", "x < c1 * c2", "c1 > 0"),
    ("c1 < x // c2", "(c1 + 1) * c2 - 1 < x", "c2 > 0"),
    ("(x // c1) * c1 < x", "0 < x % c1", "c1 > 0"),
    ("(x // c1) * c1 < x + y", "0 < x % c1 + y", "c1 > 0"),
    ("((x + c2) // c1) * c1 < x", "c2 < (x + c2) % c1", "c1 > 0"),
    ("(x // c1) * c1 + y < x", "y < x % c1", "c1 > 0"),
    # minima and maxima
    ("min(x, y) < z", "x < z or y < z"),
    ("max(x, y) < z", "x < z and y < z"),
    ("z < min(x, y)", "z < x and z < y"),
    ("z < max(x, y)", "z < x or z < y"),
]

EQ: list[Rule] = [
    ("x == x", "True"),
    ("x - y == 0", "x == y"),
    ("x + c1 == c2", "x == c2 - c1"),
    ("c1 - x == c2", "x == c1 - c2"),
    ("x + c1 == y + c2", "x == y + (c2 - c1)"),
    ("x + y == x + z", "y == z"),
    ("x + y == x", "y == 0"),
    ("y - x == z - x", "y == z"),
    ("x - y == x - z", "y == z"),
    ("x - y == x", "y == 0"),
    ("x * c1 == y * c1", "x == y", "c1 != 0"),
    ("x * c1 == c2", "x == c2 // c1", "c1 != 0 and c2 % c1 == 0"),
    ("x * c1 == c2", "False", "c1 != 0 and c2 % c1 != 0"),
    ("x * y == 0", "x == 0 or y == 0"),
]

AND: list[Rule] = [
    ("x and x", "x"),
    ("x and (not x)", "False"),
    ("(x and y) and x", "x and y"),
    ("(x or y) and x", "x"),
    ("x == y and x != y", "False"),
    ("x < y and y < x", "False"),
    ("x < y and y <= x", "False"),
    ("x <= y and y < x", "False"),
    ("x <= y and y <= x", "x == y"),
    ("x < y and x <= y", "x < y"),
    ("x < c1 and c2 < x", "False", "c1 <= c2 + 1"),
    ("x < c1 and c2 <= x", "False", "c1 <= c2"),
    ("x <= c1 and c2 < x", "False", "c1 <= c2"),
    ("x <= c1 and c2 <= x", "False", "c1 < c2"),
    ("x < c1 and x < c2", "x < min(c1, c2)"),
    ("c1 < x and c2 < x", "max(c1, c2) < x"),
    ("x <= c1 and x <= c2", "x <= min(c1, c2)"),
    ("c1 <= x and c2 <= x", "max(c1, c2) <= x"),
    ("x == c1 and x == c2", "False", "c1 != c2"),
    ("x == c1 and x != c2", "x == c1", "c1 != c2"),
    ("x == c1 and x < c2", "x == c1", "c1 < c2"),
    ("x == c1 and c2 < x", "x == c1", "c2 < c1"),
]

OR: list[Rule] = [
    ("x or x", "x"),
    ("x or (not x)", "True"),
    ("(x or y) or x", "x or y"),
    ("(x and y) or x", "x"),
    ("x == y or x != y", "True"),
    ("x < y or y <= x", "True"),
    ("x <= y or y < x", "True"),
    ("x <= y or y <= x", "True"),
    ("x < y or y < x", "x != y"),
    ("x < c1 or c2 < x", "True", "c2 < c1"),
    ("x < c1 or c2 <= x", "True", "c2 <= c1"),
    ("x <= c1 or c2 < x", "True", "c2 <= c1"),
    ("x <= c1 or c2 <= x", "True", "c2 <= c1 + 1"),
    ("x < c1 or x < c2", "x < max(c1, c2)"),
    ("c1 < x or c2 < x", "min(c1, c2) < x"),
    ("x != c1 or x == c2", "x != c1", "c1 != c2"),
    ("x != c1 or x != c2", "True", "c1 != c2"),
    ("x < y or x == y", "x <= y"),
]
