"""Averages of integers are cut off, in machine code as in the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay

X = np.array([[[0, 1, 2, 3, 4], [-5, -6, -7, -8, -10]]], "int32")


@pytest.mark.parametrize("kind", ["graph", "debug"])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: relay.nn.adaptive_avg_pool1d(x, (2,)), [[1, 3], [-6, -8]]),
        (relay.nn.global_avg_pool1d, [[2], [-7]]),
        (lambda x: relay.mean(x, 2, True), [[2], [-7]]),
    ],
    ids=["adaptive", "global", "mean"],
)
def test_averages_of_integers(function: Any, expected: Any, kind: str) -> None:
    x = relay.var("x", shape=X.shape, dtype="int32")
    mod = tvm.IRModule.from_expr(relay.Function([x], function(x)))
    result = relay.create_executor(kind, mod, target="llvm").evaluate()(X).numpy()
    assert (result.dtype, result[0].tolist()) == ("int32", expected)


@pytest.mark.parametrize("kind", ["graph", "debug"])
def test_shares_of_integers_are_cut_off(kind: str) -> None:
    """A window's gradient is divided among its elements, towards zero."""
    g, x = (relay.var(name, shape=(1, 1, 2, 2 * k), dtype="int32") for name, k in (("g", 1), ("x", 2)))
    shares = relay.nn.avg_pool2d_grad(g, x, (1, 2), (1, 2), (0, 0), "NCHW")
    mod = tvm.IRModule.from_expr(relay.Function([g, x], shares))
    upstream = np.array([[[[5, -5], [1, 8]]]], "int32")
    result = relay.create_executor(kind, mod, target="llvm").evaluate()(upstream, np.zeros((1, 1, 2, 4), "int32"))
    assert result.numpy()[0, 0].tolist() == [[2, 2, -2, -2], [0, 0, 4, 4]]


def test_functions_of_integers_have_gradients() -> None:
    x = relay.var("x", shape=(1, 1, 2, 2), dtype="int32")
    pooled = relay.Function([x], relay.nn.avg_pool2d(x, (1, 1), padding=(1, 1)))
    backward = relay.transform.gradient(relay.transform.InferType()(tvm.IRModule.from_expr(pooled))["main"])
    _, (grad,) = relay.create_executor("debug").evaluate(backward)(np.zeros((1, 1, 2, 2), "int32"))
    assert grad.numpy().tolist() == [[[[1, 1], [1, 1]]]]
