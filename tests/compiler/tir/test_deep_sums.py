"""Sums that a script spells out go from the script to machine code, however many terms they have."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import compiler as tvm
from compiler import arith, te, tir
from compiler.arith.deep_equal import deep_equal, fingerprint
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.expr.substitute import free_vars, post_order_visit, substitute
from compiler.ir.structural import structural_equal, structural_hash

TERMS = 3_000
variables = [Var(f"v{k}") for k in range(20)]


def left_sum() -> PrimExpr:
    e: PrimExpr = variables[0]
    for k in range(1, TERMS):
        e = e + variables[k % 20] * (k % 7 + 1)
    return e


def right_sum() -> PrimExpr:
    e: PrimExpr = variables[0]
    for k in range(1, TERMS):
        e = variables[k % 20] * (k % 7 + 1) + e
    return e


@pytest.fixture(params=[left_sum, right_sum])
def make(request: pytest.FixtureRequest) -> Iterator[Callable[[], PrimExpr]]:
    """Under Python's usual limit of frames, whatever ran before in this process."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)
    yield request.param
    sys.setrecursionlimit(before)


def value(e: PrimExpr) -> int:
    """Evaluate a sum, variable ``v3`` being 3."""
    total, todo = 0, [(e, 1)]
    while todo:
        part, factor = todo.pop()
        match part:
            case tir.Add(a, b):
                todo += [(a, factor), (b, factor)]
            case tir.Sub(a, b):
                todo += [(a, factor), (b, -factor)]
            case tir.Mul(a, tir.IntImm(c)):
                todo.append((a, factor * c))
            case tir.IntImm(c):
                total += factor * c
            case Var():
                total += factor * int(part.name[1:])
            case _:
                raise AssertionError(type(part))
    return total


def test_equality_and_hashes(make: Callable[[], PrimExpr]) -> None:
    a, b = make(), make()
    assert deep_equal(a, b)
    assert structural_equal(a, b)
    assert structural_hash(a) == structural_hash(b)
    other = a + variables[3]
    assert not deep_equal(other, b + variables[4])


def test_simplification(make: Callable[[], PrimExpr]) -> None:
    e = make()
    result = arith.Analyzer().simplify(e)
    assert value(result) == value(e)
    assert len(free_vars(result)) == 20
    assert str(result).count("+") == 19
    analyzer = arith.Analyzer()
    for var in variables:
        analyzer.update(var, arith.ConstIntBound(0, 1))
    bound = analyzer.const_int_bound(e)
    assert bound.min_value == 0
    assert bound.max_value == sum([1, *[k % 7 + 1 for k in range(1, TERMS)]])
    assert arith.Analyzer().can_prove_equal(e, make())
    coefficient = arith.detect_linear_equation(e, variables[:1])[0]
    assert coefficient.value == sum(k % 7 + 1 for k in range(20, TERMS, 20)) + 1


def test_like_terms_of_long_sums_meet() -> None:
    names = [Var(f"w{k}") for k in range(60)]
    e: PrimExpr = names[0] // 3
    for k in range(1, 60):
        e = e + names[k] // 3 * (k + 1)
    for k in range(20, 60):
        e = e - names[k] // 3 * (k + 1)
    for k in range(20, 40):
        e = e + names[k] // 3
    result = arith.Analyzer().canonical_simplify(e)
    assert len(free_vars(result)) == 40
    assert str(result).count("//") == 40


def test_fingerprints_agree_with_equality() -> None:
    a, b = variables[:2]
    pairs = [(a + b, a + b), (a // 3 % b, a // 3 % b), (tir.exp(a.astype("float32")), tir.exp(a.astype("float32")))]
    for x, y in pairs:
        assert deep_equal(x, y)
        assert fingerprint(x) == fingerprint(y)
    assert fingerprint(a + b) != fingerprint(b + a)


def test_substitution_and_visits(make: Callable[[], PrimExpr]) -> None:
    e = make()
    assert free_vars(substitute(e, {variables[1]: variables[0]})) != free_vars(e)
    seen: list[object] = []
    post_order_visit(e, seen.append)
    assert seen[-1] is e
    before: list[object] = []

    def enter(n: object) -> bool:
        before.append(n)
        return True

    tir.stmt_functor.pre_order_visit(e, enter)
    assert before[0] is e
    assert set(map(id, before)) == set(map(id, seen))


def test_text(make: Callable[[], PrimExpr]) -> None:
    assert str(make()).count("+") == TERMS - 1


@pytest.mark.parametrize(
    ("dtype", "scheduled"),
    [("float32", True), *(pytest.param(dtype, False, marks=pytest.mark.long) for dtype in ("float32", "int32"))],
)
def test_from_script_to_machine_code(dtype: str, scheduled: bool) -> None:
    a = te.placeholder((TERMS,), name="A", dtype=dtype)

    def body(i: PrimExpr) -> PrimExpr:
        e = a[0]
        for k in range(1, TERMS):
            e = e + a[k] * (k % 3)
        return e

    b = te.compute((8,), body, name="B")
    s = te.create_schedule(b.op)
    if scheduled:
        outer, inner = s[b].split(b.op.axis[0], 4)
        s[b].vectorize(inner)
        s[b].parallel(outer)
    numbers = np.ones(TERMS, dtype)
    result = tvm.nd.array(np.zeros(8, dtype))
    tvm.build(s, [a, b], target="llvm")(tvm.nd.array(numbers), result)
    assert (result.numpy() == 1 + sum(k % 3 for k in range(1, TERMS))).all()
