"""Means of unsigned integers: what is scattered to a place is added to what is there, and divided by their number."""

from __future__ import annotations

import numpy as np
import pytest

import compiler as tvm
from compiler import relay


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_means_of_unsigned_integers_are_rounded_down(dtype: str) -> None:
    data, updates = np.array([10, 201, 7], dtype), np.array([5, 4, 200], dtype)
    places = np.array([0, 0, 1], "int64")
    params = [
        relay.var(name, shape=(3,), dtype=str(value.dtype))
        for name, value in zip("dpu", (data, places, updates), strict=True)
    ]
    call = relay.scatter_elements(*params, axis=0, reduction="mean")
    mod = tvm.IRModule.from_expr(relay.Function(params, call))
    result = relay.create_executor("graph", mod).evaluate()(data, places, updates).numpy()
    exact = [(10 + 5 + 4) // 3, (201 + 200) // 2, 7]
    expected = [(10 + 5 + 4) // 3, ((201 + 200) % 256) // 2, 7] if dtype == "uint8" else exact
    assert result.tolist() == expected
