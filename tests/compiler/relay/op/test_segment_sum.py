"""Sums of segments, whose number is a number, a tensor, or known at run time only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay


@pytest.mark.parametrize("count", [None, 3, 5, "tensor"])
def test_the_number_of_segments(count: Any) -> None:
    values = np.arange(8, dtype="float32").reshape(4, 2)
    data, segments = relay.var("data", shape=(4, 2)), relay.const(np.array([0, 0, 1, 2], "int32"))
    given = relay.const(np.array([5], "int32")) if count == "tensor" else count
    graph = relay.Function([data], relay.segment_sum(data, segments, given))
    sums = np.zeros((5 if count in (5, "tensor") else 3, 2), "float32")
    np.add.at(sums, [0, 0, 1, 2], values)
    result = relay.create_executor("vm", target="llvm").evaluate(graph)(values)
    np.testing.assert_array_equal(result.numpy(), sums)
