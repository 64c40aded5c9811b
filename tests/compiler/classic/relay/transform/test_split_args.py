"""SplitArgs: how many tensors each concatenate joins, and that the values stay."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import relay
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.relay import transform
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, Tuple
from compiler.relay.function import Function
from compiler.relay.operator import op_name


def _module(count: int, axis: int) -> IRModule:
    inputs = [relay.var(f"x{i}", shape=(2, 3)) for i in range(count)]
    body = relay.tanh(relay.concatenate(inputs, axis))
    return transform.InferType()(IRModule.from_expr(Function(tuple(inputs), body)))


def _joined(mod: IRModule) -> list[int]:
    """Return how many tensors each group has that is joined on its own."""
    groups = [p.args[0] for p in post_order(mod["main"].body) if isinstance(p, Call) and op_name(p).endswith("fusion")]
    assert all(isinstance(g, Tuple) for g in groups)
    return [len(g.fields) for g in groups]


# What TVM 0.19 makes of as many tensors under the same limit.
@pytest.mark.parametrize(
    ("count", "limit", "groups"),
    [
        (5, 2, [1, 2, 2, 2, 2]),
        (5, 3, [2, 2, 2, 2]),
        (5, 4, [3, 3]),
        (4, 4, [3, 2]),
        (3, 4, [3]),
        (3, 5, []),
        (5, 0, []),
        (5, -1, []),
    ],
)
def test_groups(count: int, limit: int, groups: list[int]) -> None:
    assert _joined(transform.SplitArgs(limit)(_module(count, 0))) == groups


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("limit", [2, 3, 5])
def test_values_stay(axis: int, limit: int) -> None:
    arrays = [np.random.default_rng(i).random((2, 3), "float32") for i in range(6)]
    mod = transform.SplitArgs(limit)(_module(6, axis))
    made = relay.create_executor("graph", mod=mod).evaluate()(*arrays).numpy()
    np.testing.assert_allclose(made, np.tanh(np.concatenate(arrays, axis)), rtol=1e-5)


def test_the_result_is_a_parameter_too() -> None:
    with pytest.raises(ArgumentError, match="max_function_args must be at least 2"):
        transform.SplitArgs(1)(_module(2, 0))
