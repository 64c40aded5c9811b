"""Random integer expressions and what they evaluate to, for the property tests of this package."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from compiler.ir.expr.primexpr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    Broadcast,
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
    Select,
    Sub,
    Var,
)

_EXAMPLES = os.environ.get("STRATA_EXAMPLES")


def examples(count: int) -> settings:
    """Return how many examples a property is tried on: the same few in every run, or STRATA_EXAMPLES new ones."""
    return settings(max_examples=int(_EXAMPLES or count), derandomize=_EXAMPLES is None, deadline=None)


VARIABLES = [Var(name) for name in "xyzw"]
RANGES = {"x": (0, 15), "y": (0, 7), "z": (-9, 9), "w": (3, 3)}
"""Bounds of the variables, both ends included."""


def imm(value: int) -> IntImm:
    return IntImm("int32", value)


def _arithmetic(inner: st.SearchStrategy[PrimExpr]) -> st.SearchStrategy[PrimExpr]:
    constants = st.sampled_from([-8, -4, -3, -1, 1, 2, 3, 4, 5, 8, 16]).map(imm)
    kinds = st.sampled_from([Add, Sub, Min, Max])
    scaled = st.builds(Mul, inner, constants)
    divided = st.builds(lambda k, a, b: k(a, b), st.sampled_from([FloorDiv, FloorMod, Div, Mod]), inner, constants)
    combined = st.builds(lambda k, a, b: k(a, b), kinds, inner, inner)
    shifted = st.builds(Add, inner, constants)
    product = st.builds(Mul, inner, inner)
    chosen = st.builds(Select, conditions(inner, 1), inner, inner)
    return st.one_of(combined, scaled, divided, shifted, combined, scaled, divided, product, chosen)


def conditions(operands: st.SearchStrategy[PrimExpr], depth: int = 2) -> st.SearchStrategy[PrimExpr]:
    """Return comparisons of integers, and conjunctions, disjunctions and negations of them."""
    kinds = st.sampled_from([LT, LE, GT, GE, EQ, NE])
    result: st.SearchStrategy[PrimExpr] = st.builds(lambda k, a, b: k(a, b), kinds, operands, operands)
    for _ in range(depth):
        result = st.one_of(
            result, st.builds(And, result, result), st.builds(Or, result, result), st.builds(Not, result)
        )
    return result


LEAVES = st.one_of(st.sampled_from(VARIABLES), st.sampled_from(VARIABLES), st.integers(-20, 20).map(imm))
INTEGERS: st.SearchStrategy[PrimExpr] = st.recursive(LEAVES, _arithmetic, max_leaves=10)
CONDITIONS = conditions(st.recursive(LEAVES, _arithmetic, max_leaves=5))
LANES = 4
_SHORT = st.recursive(LEAVES, _arithmetic, max_leaves=3)
_BLOCKS = st.builds(lambda e, c: e * c, _SHORT, st.sampled_from([1, 4, 8, 32]))
_STEPS = st.sampled_from([-4, -1, 0, 1, 2, 4, 8]).map(imm)


def _vector_operations(inner: st.SearchStrategy[PrimExpr]) -> st.SearchStrategy[PrimExpr]:
    divisors = st.sampled_from([1, 2, 4, 8, 32]).map(lambda c: Broadcast(imm(c), LANES))
    divided = st.builds(lambda k, a, b: k(a, b), st.sampled_from([FloorDiv, FloorMod, Div, Mod]), inner, divisors)
    combined = st.builds(lambda k, a, b: k(a, b), st.sampled_from([Add, Sub, Mul, Min, Max]), inner, inner)
    return st.one_of(divided, combined)


VECTORS: st.SearchStrategy[PrimExpr] = st.recursive(
    st.one_of(
        st.builds(lambda base, step: Ramp(base, step, LANES), _BLOCKS, _STEPS),
        st.builds(lambda value: Broadcast(value, LANES), _SHORT),
    ),
    _vector_operations,
    max_leaves=4,
)
VECTOR_CONDITIONS = st.builds(lambda k, a, b: k(a, b), st.sampled_from([LT, LE, GT, GE, EQ, NE]), VECTORS, VECTORS)
ASSIGNMENTS = st.fixed_dictionaries({name: st.integers(*bounds) for name, bounds in RANGES.items()})


def evaluate(e: PrimExpr, values: dict[str, int]) -> int:
    """Return the value of an expression.

    Raises
    ------
    ZeroDivisionError
        Where it has none.
    """
    if isinstance(e, IntImm):
        return e.value
    if isinstance(e, Var):
        return values[e.name]
    if isinstance(e, Not):
        return 1 - evaluate(e.a, values)
    if isinstance(e, Select):
        chosen = e.true_value if evaluate(e.condition, values) else e.false_value
        return evaluate(chosen, values)
    assert isinstance(e, BinaryOp), type(e)
    result: Any = type(e).evaluate(evaluate(e.a, values), evaluate(e.b, values))
    return int(result)


def evaluate_lane(e: PrimExpr, lane: int, values: dict[str, int]) -> int:
    """Return the value of one lane of a vector."""
    if isinstance(e, Broadcast):
        return evaluate(e.value, values)
    if isinstance(e, Ramp):
        return evaluate(e.base, values) + evaluate(e.stride, values) * lane
    assert isinstance(e, BinaryOp), type(e)
    result: Any = type(e).evaluate(evaluate_lane(e.a, lane, values), evaluate_lane(e.b, lane, values))
    return int(result)


def written(e: PrimExpr) -> str:
    """Write an expression for the message of a failed test."""
    if isinstance(e, IntImm):
        return str(e.value)
    if isinstance(e, Var):
        return e.name
    if isinstance(e, Not):
        return f"not {written(e.a)}"
    if isinstance(e, Select):
        return f"select({written(e.condition)}, {written(e.true_value)}, {written(e.false_value)})"
    if isinstance(e, Ramp):
        return f"ramp({written(e.base)}, {written(e.stride)})"
    if isinstance(e, Broadcast):
        return f"broadcast({written(e.value)})"
    assert isinstance(e, BinaryOp)
    return f"({written(e.a)} {e.symbol} {written(e.b)})"


def well_typed(e: PrimExpr) -> bool:
    """Return whether operands have the data types that their operation takes."""
    if isinstance(e, (And, Or)):
        fits = e.a.dtype == e.b.dtype == "bool"
    elif isinstance(e, BinaryOp):
        fits = e.a.dtype == e.b.dtype != "bool"
    elif isinstance(e, Not):
        fits = e.a.dtype == "bool"
    elif isinstance(e, Select):
        fits = e.condition.dtype == "bool" and e.true_value.dtype == e.false_value.dtype
    else:
        return True
    return fits and all(well_typed(getattr(e, name)) for name in e.children)
