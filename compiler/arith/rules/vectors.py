"""Rules for vectors: operations on ramps and broadcasts become one ramp or broadcast of scalar operations."""

from __future__ import annotations

from compiler.arith.pattern import Rule, fixed, ordered

ADD: list[Rule] = [
    ("ramp(x, c1, lanes) + ramp(y, c2, lanes)", "ramp(x + y, c1 + c2, lanes)"),
    fixed("ramp(x, y, lanes) + broadcast(z, lanes)", "ramp(x + z, y, lanes)"),
    fixed("broadcast(z, lanes) + ramp(x, y, lanes)", "ramp(z + x, y, lanes)"),
    ("broadcast(x, lanes) + broadcast(y, lanes)", "broadcast(x + y, lanes)"),
]
SUB: list[Rule] = [
    ("ramp(x, c1, lanes) - ramp(y, c2, lanes)", "ramp(x - y, c1 - c2, lanes)"),
    ("ramp(x, y, lanes) - broadcast(z, lanes)", "ramp(x - z, y, lanes)"),
    ("broadcast(z, lanes) - ramp(x, y, lanes)", "ramp(z - x, 0 - y, lanes)"),
    ("broadcast(x, lanes) - broadcast(y, lanes)", "broadcast(x - y, lanes)"),
]
MUL: list[Rule] = [
    ("ramp(x, y, lanes) * broadcast(z, lanes)", "ramp(x * z, y * z, lanes)"),
    ("broadcast(x, lanes) * broadcast(y, lanes)", "broadcast(x * y, lanes)"),
]
FLOOR_DIV: list[Rule] = [
    ("broadcast(x, lanes) // broadcast(y, lanes)", "broadcast(x // y, lanes)"),
    ("ramp(x, c1, lanes) // broadcast(c2, lanes)", "ramp(x // c2, c1 // c2, lanes)", "c1 % c2 == 0"),
    (
        "ramp(x, c1, lanes) // broadcast(c2, lanes)",
        "broadcast(x // c2, lanes)",
        "c2 > 0 and lanes > 0 and within_block(x, c1 * (lanes - 1), c2)",
    ),
]
FLOOR_MOD: list[Rule] = [
    ("broadcast(x, lanes) % broadcast(y, lanes)", "broadcast(x % y, lanes)"),
    ("ramp(x, c1, lanes) % broadcast(c2, lanes)", "broadcast(x % c2, lanes)", "c1 % c2 == 0"),
    (
        "ramp(x, c1, lanes) % broadcast(c2, lanes)",
        "ramp(x % c2, c1, lanes)",
        "c2 > 0 and lanes > 0 and within_block(x, c1 * (lanes - 1), c2)",
    ),
    (
        "ramp(x, c1, lanes) % broadcast(c2, lanes)",
        "ramp(x % c2, c1, lanes) % broadcast(c2, lanes)",
        "c2 > 0 and is_reducible(x, c2)",
    ),
]
TRUNC_DIV: list[Rule] = [
    ("truncdiv(broadcast(x, lanes), broadcast(y, lanes))", "broadcast(truncdiv(x, y), lanes)"),
    (
        "truncdiv(ramp(x, c1, lanes), broadcast(c2, lanes))",
        "ramp(truncdiv(x, c2), truncdiv(c1, c2), lanes)",
        "c1 >= 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0",
    ),
    (
        "truncdiv(ramp(x, c1, lanes), broadcast(c2, lanes))",
        "broadcast(truncdiv(x, c2), lanes)",
        "c1 >= 0 and c2 > 0 and low(x) >= 0 and lanes > 0 and within_block(x, c1 * (lanes - 1), c2)",
    ),
]
TRUNC_MOD: list[Rule] = [
    ("truncmod(broadcast(x, lanes), broadcast(y, lanes))", "broadcast(truncmod(x, y), lanes)"),
    (
        "truncmod(ramp(x, c1, lanes), broadcast(c2, lanes))",
        "broadcast(truncmod(x, c2), lanes)",
        "c1 >= 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0",
    ),
    (
        "truncmod(ramp(x, c1, lanes), broadcast(c2, lanes))",
        "ramp(truncmod(x, c2), c1, lanes)",
        "c1 >= 0 and c2 > 0 and low(x) >= 0 and lanes > 0 and within_block(x, c1 * (lanes - 1), c2)",
    ),
    (
        "truncmod(ramp(x, c1, lanes), broadcast(c2, lanes))",
        "truncmod(ramp(truncmod(x, c2), c1, lanes), broadcast(c2, lanes))",
        "c1 >= 0 and c2 > 0 and low(x) >= 0 and is_reducible(x, c2)",
    ),
]
MIN: list[Rule] = [
    ("min(broadcast(x, lanes), broadcast(y, lanes))", "broadcast(min(x, y), lanes)"),
    ordered("min(min(x, broadcast(y, lanes)), broadcast(z, lanes))", "min(x, broadcast(min(y, z), lanes))"),
]
MAX: list[Rule] = [
    ("max(broadcast(x, lanes), broadcast(y, lanes))", "broadcast(max(x, y), lanes)"),
    ordered("max(max(x, broadcast(y, lanes)), broadcast(z, lanes))", "max(x, broadcast(max(y, z), lanes))"),
]
LT: list[Rule] = [
    ("broadcast(x, lanes) < broadcast(y, lanes)", "broadcast(x < y, lanes)"),
    ("ramp(x, y, lanes) < ramp(z, y, lanes)", "broadcast(x < z, lanes)"),
]
LE: list[Rule] = [
    ("broadcast(x, lanes) <= broadcast(y, lanes)", "broadcast(x <= y, lanes)"),
    ("ramp(x, y, lanes) <= ramp(z, y, lanes)", "broadcast(x <= z, lanes)"),
]
EQ: list[Rule] = [("broadcast(x, lanes) == broadcast(y, lanes)", "broadcast(x == y, lanes)")]
NE: list[Rule] = [("broadcast(x, lanes) != broadcast(y, lanes)", "broadcast(x != y, lanes)")]
AND: list[Rule] = [("broadcast(x, lanes) and broadcast(y, lanes)", "broadcast(x and y, lanes)")]
OR: list[Rule] = [("broadcast(x, lanes) or broadcast(y, lanes)", "broadcast(x or y, lanes)")]
