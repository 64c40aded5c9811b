"""Values that are used several times stay shared on their way to machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.ir.expr.primexpr import Let, PrimExpr, ProducerLoad
from compiler.ir.expr.substitute import post_order_visit
from compiler.te.scheduling.sharing import MIN_TREE, shared_values_named

N = 8


def tree_size(e: Any) -> int:
    """Return how many nodes an expression has that shares none of them."""
    sizes: dict[Any, int] = {}

    def count(n: Any) -> None:
        children = [getattr(n, name) for name in n.children]
        parts = [p for c in children for p in (c if isinstance(c, tuple) else [c])]
        sizes[n] = 1 + sum(sizes[p] for p in parts)

    post_order_visit(e, count)
    return sizes[e]


def run(outputs: te.Tensor, a: Any, schedule: Any = None) -> Any:
    A = outputs.op.input_tensors[0]
    while A.op.input_tensors:
        A = A.op.input_tensors[0]
    s = schedule or te.create_schedule(outputs.op)
    result = np.zeros([int(d) for d in outputs.shape], outputs.dtype)
    tvm.build(s, [A, outputs], "llvm")(a, result)
    return result


def test_an_expression_that_shares_little_stays() -> None:
    A = te.placeholder((N,), name="A")
    e = A[0] * A[0] + A[0]
    assert shared_values_named(e) is e


def test_squarings_in_one_expression_are_computed_once_each() -> None:
    A = te.placeholder((N,), "int32", name="A")
    e: PrimExpr = A[0]
    for _ in range(60):
        e = e * e + 1
    named = shared_values_named(e)
    assert tree_size(e) > 2**60
    assert tree_size(named) < 60 * 10
    a, expected = np.arange(N, dtype="int32") + 3, np.int32(3)
    with np.errstate(over="ignore"):
        for _ in range(60):
            expected = expected * expected + np.int32(1)
    B = te.compute((N,), lambda i: e, name="B")
    assert run(B, a).tolist() == [expected] * N


def squared(t: te.Tensor) -> Any:
    return lambda i: t[i] * t[i] + 1


@pytest.mark.parametrize("vectorized", [False, True])
def test_squarings_of_inlined_tensors_are_computed_once_each(vectorized: bool) -> None:
    A = te.placeholder((N,), "uint32", name="A")
    tensors = [A]
    for k in range(60):
        tensors.append(te.compute((N,), squared(tensors[-1]), name=f"B{k}"))
    s = te.create_schedule(tensors[-1].op)
    for t in tensors[1:-1]:
        s[t].compute_inline()
    if vectorized:
        s[tensors[-1]].vectorize(tensors[-1].op.axis[0])
    expected = a = np.arange(N, dtype="uint32")
    for _ in range(60):
        expected = expected * expected + np.uint32(1)
    assert run(tensors[-1], a, s).tolist() == expected.tolist()


def test_what_a_condition_guards_is_not_computed_before_it() -> None:
    A = te.placeholder((N,), "int32", name="A")

    def deep(value: PrimExpr) -> PrimExpr:
        for _ in range(12):
            value = value * value + value
        return value

    B = te.compute((2 * N,), lambda i: te.if_then_else(i < N, deep(A[i]), deep(A[i - N]) + 1), name="B")
    order: list[Any] = []
    post_order_visit(B.op.body[0], order.append)
    lets = [n for n in order if isinstance(n, Let)]
    assert len(lets) > 20
    assert not isinstance(B.op.body[0], Let)
    a = np.arange(N, dtype="int32")
    value = a
    for _ in range(12):
        value = value * value + value
    assert run(B, a).tolist() == [*value, *(value + 1)]


def test_what_both_branches_compute_is_computed_before() -> None:
    A = te.placeholder((N,), "int32", name="A")

    def value(i: Any) -> PrimExpr:
        e = A[i] + 1
        for _ in range(12):
            e = te.if_then_else(i < 3, e * 3, e * 5) + e
        return e

    B = te.compute((N,), value, name="B")
    assert tree_size(B.op.body[0]) < MIN_TREE
    a = np.arange(N, dtype="int32")
    expected = np.where(np.arange(N) < 3, 4, 6).astype("int64") ** 12 * (a + 1)
    assert run(B, a).tolist() == expected.astype("int32").tolist()


def test_indices_are_left_as_they_are_written() -> None:
    A = te.placeholder((N, N), "int32", name="A")

    def value(i: Any) -> PrimExpr:
        e = A[(i + 1) % N, (i + 1) % N]
        for _ in range(12):
            e = e * e
        return e

    loads: list[Any] = []
    post_order_visit(
        te.compute((N,), value).op.body[0], lambda n: loads.append(n) if isinstance(n, ProducerLoad) else 0
    )
    assert all("v" not in str(index) for load in loads for index in load.indices)


def test_a_branch_may_be_a_number() -> None:
    a = te.placeholder((N,), "int32", name="a")

    def element(i: Any) -> Any:
        value = a[i]
        for _ in range(8):
            value = tvm.tir.Select(value > 1, (value * value - value) % 7, -1)
        return value

    data = np.arange(N, dtype="int32")
    expected = data.copy()
    for _ in range(8):
        expected = np.where(expected > 1, (expected * expected - expected) % 7, -1)
    np.testing.assert_array_equal(run(te.compute((N,), element), data), expected)
