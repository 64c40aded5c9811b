"""All rewrite rules by the operation at the root: ``SCALAR`` for indices, ``VECTOR`` for vectors of any type."""

from __future__ import annotations

from compiler.arith.pattern import RuleSet
from compiler.arith.rules import comparisons, divisions, extrema, sums, vectors
from compiler.ir.expr import primexpr as ir

SCALAR: dict[type[ir.PrimExpr], RuleSet] = {
    kind: RuleSet(kind, rules)
    for kind, rules in (
        (ir.Add, sums.ADD),
        (ir.Sub, sums.SUB),
        (ir.Mul, sums.MUL),
        (ir.FloorDiv, divisions.FLOOR_DIV),
        (ir.FloorMod, divisions.FLOOR_MOD),
        (ir.Div, divisions.TRUNC_DIV),
        (ir.Mod, divisions.TRUNC_MOD),
        (ir.Min, extrema.MIN),
        (ir.Max, extrema.MAX),
        (ir.LT, comparisons.LT),
        (ir.EQ, comparisons.EQ),
        (ir.And, comparisons.AND),
        (ir.Or, comparisons.OR),
    )
}

VECTOR: dict[type[ir.PrimExpr], RuleSet] = {
    kind: RuleSet(kind, rules)
    for kind, rules in (
        (ir.Add, vectors.ADD),
        (ir.Sub, vectors.SUB),
        (ir.Mul, vectors.MUL),
        (ir.FloorDiv, vectors.FLOOR_DIV),
        (ir.FloorMod, vectors.FLOOR_MOD),
        (ir.Div, vectors.TRUNC_DIV),
        (ir.Mod, vectors.TRUNC_MOD),
        (ir.Min, vectors.MIN),
        (ir.Max, vectors.MAX),
        (ir.LT, vectors.LT),
        (ir.LE, vectors.LE),
        (ir.EQ, vectors.EQ),
        (ir.NE, vectors.NE),
        (ir.And, vectors.AND),
        (ir.Or, vectors.OR),
    )
}
