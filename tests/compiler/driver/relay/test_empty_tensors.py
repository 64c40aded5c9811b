"""Models of tensors without elements: they have results without elements, or sums of nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext


def _empty(*shape: int, dtype: str = "float32") -> Any:
    return relay.var("x", shape=shape, dtype=dtype)


def _ones(*shape: int, dtype: str = "float32") -> Any:
    return relay.const(np.ones(shape, dtype), dtype)


MODELS: dict[str, Callable[[], Any]] = {
    "flattened rows": lambda: relay.nn.batch_flatten(_empty(1, 1, 1, 0)),
    "flattened, no row": lambda: relay.nn.batch_flatten(_empty(0, 2, 3)),
    "product of a scan": lambda: relay.cumprod(_empty(0)),
    "sum": lambda: relay.sum(_empty(0)),
    "dense": lambda: relay.nn.dense(_empty(0, 8), _ones(4, 8)),
    "dense of bytes": lambda: relay.nn.dense(_empty(0, 8, dtype="int8"), _ones(4, 8, dtype="int8"), out_dtype="int32"),
    "dense of nothing": lambda: relay.nn.dense(_empty(3, 0), _ones(4, 0)),
    "transposed": lambda: relay.transpose(_empty(1, 1, 0), (0, 2, 1)),
    "reshaped like": lambda: relay.reshape_like(_empty(2, 0), relay.const(np.ones((3, 1, 0), "float32"))),
    "searched": lambda: relay.searchsorted(_ones(4, 5), _empty(4, 0)),
}


@pytest.mark.parametrize("kind", ["graph", "vm"])
@pytest.mark.parametrize("name", MODELS)
def test_as_interpreted(name: str, kind: str) -> None:
    body = MODELS[name]()
    mod = relay.transform.InferType()(IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body)))
    (param,) = mod["main"].params
    x = np.zeros(param.checked_type.concrete_shape, param.checked_type.dtype)
    with PassContext(opt_level=3):
        found = relay.create_executor(kind, mod=mod, target="llvm").evaluate()(x).numpy()
    expected = relay.create_executor("debug", mod=mod).evaluate()(x).numpy()
    assert found.shape == expected.shape == mod["main"].ret_type.concrete_shape
    np.testing.assert_array_equal(found, expected)


def test_an_extent_of_zero_may_be_taken_over() -> None:
    reshaped = relay.reshape(_empty(2, 1, 0), (1, 1, 0, 1))
    mod = relay.transform.InferType()(IRModule.from_expr(reshaped))
    assert mod["main"].ret_type.concrete_shape == (1, 1, 0, 1)
