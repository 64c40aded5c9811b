"""Simplification of values from memory: what does not overflow as it is written does not overflow afterwards."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.arith import Analyzer, IntervalSet
from compiler.ir import dtype as dt
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
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExpr,
    Range,
    Select,
    Sub,
    Var,
)
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from tests.compiler.arith.expressions import examples

i = Var("i", "int32")
BUFFERS = {name: decl_buffer((4,), "int32", name=name) for name in "ABC"}
NARROW = decl_buffer((4,), "int8", name="D")
LOADS = {name: buffer[i] for name, buffer in BUFFERS.items()}
A, B, C = LOADS.values()
MOST = 2**31 - 1
ENDS = [-MOST - 1, -MOST, -MOST + 1, -MOST + 5, -MOST // 2, MOST // 2, MOST - 8, MOST - 4, MOST - 2, MOST - 1, MOST]
VALUES = [*ENDS, -9, -8, -7, -3, -2, -1, 0, 1, 2, 3, 4, 7, 8, 9, 100]
PROGRAMS = examples(500).max_examples


class Overflows(Exception):
    """An operation, as it is written, has a result that its type does not hold."""


def wrapped(value: int, dtype: str) -> int:
    """Return the integer of a type that the machine computes instead of ``value``."""
    bits = dt.bits(dtype)
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def evaluate(e: PrimExpr, values: dict[str, int], may_wrap: bool) -> int:
    """Return what the machine computes; :class:`Overflows` if something overflows that may not."""
    if isinstance(e, IntImm):
        return e.value
    if isinstance(e, Var):
        return values[e.name]
    if isinstance(e, BufferLoad):
        return values[e.buffer.name]
    if isinstance(e, Not):
        return 1 - evaluate(e.a, values, may_wrap)
    if isinstance(e, Select):
        chosen = e.true_value if evaluate(e.condition, values, may_wrap) else e.false_value
        return evaluate(chosen, values, may_wrap)
    if isinstance(e, Cast):
        exact = evaluate(e.value, values, may_wrap)
    else:
        assert isinstance(e, BinaryOp), type(e)
        exact = int(type(e).evaluate(evaluate(e.a, values, may_wrap), evaluate(e.b, values, may_wrap)))
    if e.dtype == "bool":
        return exact
    if exact != (result := wrapped(exact, e.dtype)) and not may_wrap:
        raise Overflows
    return result


class Programs:
    """Random arithmetic on values from memory."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def integer(self, depth: int) -> PrimExpr:
        pick = self.random
        if depth == 0 or pick.random() < 0.15:
            return self._leaf()
        a = self.integer(depth - 1)
        constant = IntImm("int32", pick.choice([-8, -4, -3, -2, -1, 1, 2, 3, 4, 5, 7, 8, 16]))
        kind: type[BinaryOp] = pick.choice([Add, Sub, Sub, Add, Mul, FloorDiv, FloorMod, Div, Mod, Min, Max])
        if kind in (Mul, FloorDiv, FloorMod, Div, Mod) or (kind is Add and pick.random() < 0.3):
            return kind(a, constant)
        if pick.random() < 0.05:
            return Select(self.condition(depth - 1), a, self.integer(depth - 1))
        return kind(a, self.integer(depth - 1))

    def condition(self, depth: int) -> PrimExpr:
        if depth > 1 and self.random.random() < 0.15:
            return self.random.choice([And, Or])(self.condition(depth - 1), self.condition(depth - 1))
        kind: type[BinaryOp] = self.random.choice([LT, LE, GT, GE, EQ, NE])
        return kind(self.integer(depth), self.integer(depth))

    def _leaf(self) -> PrimExpr:
        kind = self.random.random()
        if kind < 0.6:
            return self.random.choice([A, B, C])
        if kind < 0.7:
            return Cast("int32", NARROW[i])
        return i if kind < 0.8 else IntImm("int32", self.random.choice(VALUES))

    def values(self) -> dict[str, int]:
        """Return an element for each buffer, often one of the ends of its type."""
        values = {name: self.random.choice(VALUES) for name in BUFFERS}
        narrow = self.random.choice([-128, -127, -1, 0, 1, 2, 5, 126, 127])
        return {**values, "D": narrow, "i": self.random.randrange(4)}


@pytest.mark.parametrize("method", ["rewrite_simplify", "canonical_simplify", "simplify"])
def test_simplified_arithmetic_on_loaded_values_is_what_the_machine_would_have_computed(method: str) -> None:
    compared = 0
    for seed in range(PROGRAMS):
        programs = Programs(seed)
        e = programs.condition(3) if seed % 2 else programs.integer(3)
        analyzer = Analyzer()
        analyzer.bind(i, Range(0, 4))
        simplified = getattr(analyzer, method)(e)
        for _ in range(30):
            values = programs.values()
            try:
                expected = evaluate(e, values, may_wrap=False)
            except (Overflows, ZeroDivisionError):
                continue
            compared += 1
            assert evaluate(simplified, values, may_wrap=True) == expected, f"{e} -> {simplified} with {values}"
    assert compared > 5 * PROGRAMS


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(lambda x, y: x >= 0 - y, lambda x, y: 0 - y <= x, id="a negative is not added to the other side"),
        pytest.param(lambda x, y: x + 1 < y - 1, lambda x, y: x + 1 < y - 1, id="constants stay on their sides"),
        pytest.param(lambda x, y: (x - 1) % 7, lambda x, y: (x - 1) % 7, id="a constant stays negative"),
        pytest.param(lambda x, y: (x + 1) % 7, lambda x, y: (x + 1) % 7, id="a small one is as it was"),
        pytest.param(lambda x, y: x + 2 < 7, lambda x, y: x < 5, id="a sum goes away"),
        pytest.param(lambda x, y: x + y < x + 3, lambda x, y: y < 3, id="terms cancel"),
        pytest.param(lambda x, y: x * 8 // 4, lambda x, y: x * 2, id="factors cancel"),
        pytest.param(lambda x, y: x // 4 * 4 + x % 4, lambda x, y: x, id="quotient and remainder meet"),
    ],
)
def test_terms_move_only_where_they_cannot_overflow(
    before: Callable[[PrimExpr, PrimExpr], PrimExpr], after: Callable[[PrimExpr, PrimExpr], PrimExpr]
) -> None:
    assert str(Analyzer().simplify(before(A, B))) == str(after(A, B))


def test_small_types_and_scalars_move_freely() -> None:
    small, n = Cast("int32", NARROW[i]), Var("n", "int32")
    analyzer = Analyzer()
    analyzer.bind(i, Range(0, 4))
    assert str(analyzer.simplify(n >= 0 - i)) == str(LE(0, n + i))
    assert str(analyzer.simplify(small - 3 > 2 - i)) == str(LT(5, small + i))
    assert str(analyzer.simplify((small - 1) % 7)) == str((small + 6) % 7)


def test_a_variable_bound_to_a_load_is_loaded() -> None:
    x, n = Var("x", "int32"), Var("n", "int32")
    condition = Let(x, A, n >= 0 - x)
    assert str(Analyzer().simplify(condition)) == str(Let(x, A, 0 - x <= n))
    program = tir.LetStmt(x, A, tir.IfThenElse(n >= 0 - x, tir.Evaluate(tir.ret(x)), None))
    module = tvm.IRModule.from_expr(tir.PrimFunc([BUFFERS["A"].data, n, i], program))
    assert "0 - x <= n" in str(tir.transform.Simplify()(module))


def test_the_largest_of_negated_integers_is_found() -> None:
    """The maximum starts at the smallest integer, to which no other may be added."""
    source = te.placeholder((3, 4), "int32", name="source")
    negated = te.compute((3, 4), lambda r, c: source[r, c] * -2 + source[r, c], name="negated")

    def larger(x: tuple[PrimExpr, PrimExpr], y: tuple[PrimExpr, PrimExpr]) -> tuple[PrimExpr, PrimExpr]:
        return tir.Select(x[1] >= y[1], x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])

    argmax = te.comm_reducer(larger, lambda index, value: (tir.const(-1, index), te.min_value(value)))
    k = te.reduce_axis((0, 4), name="k")
    index, value = te.compute((3,), lambda r: argmax((k.var, negated[r, k]), axis=k), name="best")
    schedule = te.create_schedule(index.op)
    schedule[negated].compute_inline()
    run = tvm.build(schedule, [source, index, value], "llvm")
    numbers = np.array([[-5, -1, -9, -9], [5, 1, 9, 1], [0, 7, -7, 3]], "int32")
    results = [tvm.nd.array(np.zeros(3, "int32")) for _ in range(2)]
    run(tvm.nd.array(numbers), *results)
    np.testing.assert_array_equal(results[0].numpy(), (-numbers).argmax(axis=1))
    np.testing.assert_array_equal(results[1].numpy(), (-numbers).max(axis=1))


def test_sets_of_indices_beyond_their_type_wrap_around() -> None:
    i = te.var("i")
    within, beyond = (Analyzer().int_set(i * 4096 + 1, {i: IntervalSet(0, 1 << n)}) for n in (10, 20))
    assert (str(within), str(beyond)) == ("IntervalSet[1, 4194305]", "IntervalSet[1, 1]")
