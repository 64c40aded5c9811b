"""Python's operators on whole tensors."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, topi
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import PrimExpr, Var

A = te.placeholder((), name="A")
B = te.placeholder((3, 5), name="B")
C = te.placeholder((5,), name="C")
n = te.var("n")

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]


@pytest.mark.parametrize("apply", OPERATORS)
@pytest.mark.parametrize(
    ("left", "right"), [(B, C), (C, B), (B, 2.5), (2.5, B), (A, B), (B, A), (3, A), (n, B), (B, n)]
)
def test_results_are_those_of_numpy(apply: Any, left: Any, right: Any) -> None:
    T = apply(left, right)
    assert isinstance(T, te.Tensor)
    inputs = [x for x in (left, right) if isinstance(x, (te.Tensor, Var))]
    rng = np.random.default_rng(0)
    values = [4 if x is n else rng.uniform(1, 2, [int(d) for d in x.shape]).astype("float32") for x in inputs]
    given = dict(zip(map(id, inputs), values, strict=True))
    expected = apply(*(given.get(id(x), x) for x in (left, right)))
    out = tvm.nd.array(np.zeros([int(d) for d in T.shape], "float32"))
    arrays = [v if isinstance(v, int) else tvm.nd.array(v) for v in values]
    tvm.build(te.create_schedule(T.op), [*inputs, T])(*arrays, out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)


def test_an_element_beside_a_tensor_is_a_number() -> None:
    assert isinstance(B[0, 0] + 1, PrimExpr)
    assert isinstance(B[0, 0] + n, PrimExpr)
    assert isinstance(B[0, 0] + B, te.Tensor)
    assert isinstance(A + B[0, 0], te.Tensor)


def test_tags_say_whether_shapes_are_broadcast() -> None:
    assert (B + 1).op.tag == (n + B).op.tag == topi.tag.ELEMWISE
    assert (A + B).op.tag == (B + C).op.tag == (B + B).op.tag == topi.tag.BROADCAST


def test_a_fraction_beside_integers_stays_a_fraction() -> None:
    W = te.placeholder((4,), "int32", name="W")
    assert (W + 1).dtype == "int32"
    assert (W * 0.5).dtype == "float32"


def test_negation_and_conversion() -> None:
    assert (-B).dtype == "float32"
    assert B.astype("int8").dtype == "int8"
    assert B.astype("float32") is B


def test_a_definition_is_of_elements() -> None:
    with pytest.raises(ArgumentError, match=r"read the element of a scalar tensor as A\(\)"):
        te.compute((5,), lambda i: C[i] * A)
    te.compute((5,), lambda i: C[i] * A())
