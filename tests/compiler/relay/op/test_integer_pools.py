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
