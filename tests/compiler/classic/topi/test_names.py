"""``tvm.topi.cuda``: TVM's names for schedules of GPUs."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import te, topi
from compiler.classic.testing.topi import get_injective_schedule, get_reduce_schedule
from compiler.driver.emulate import emulate
from compiler.ir.error import ArgumentError
from compiler.target import Target


def test_schedules_by_name() -> None:
    x, w = te.placeholder((4, 64), name="x"), te.placeholder((10, 64), name="w")
    with Target("cuda"):
        y = topi.nn.dense(x, w)
        s = topi.cuda.schedule_dense_small_batch([y])
    a, b = np.random.default_rng(0).random((4, 64), "float32"), np.random.default_rng(1).random((10, 64), "float32")
    result = np.zeros((4, 10), "float32")
    emulate(s, [x, w, y], "cuda")(a, b, result)
    np.testing.assert_allclose(result, a @ b.T, rtol=1e-5)


def test_one_stage_of_a_schedule() -> None:
    x = te.placeholder((5, 700), name="x")
    y = topi.nn.relu(x)
    s = te.create_schedule(y.op)
    assert topi.cuda.schedule_injective_from_existing(s, y) is s
    a, result = np.random.default_rng(0).standard_normal((5, 700)).astype("float32"), np.zeros((5, 700), "float32")
    emulate(s, [x, y], "cuda")(a, result)
    np.testing.assert_array_equal(result, np.maximum(a, 0))
    with pytest.raises(ArgumentError, match="have already been split"):
        topi.cuda.schedule_injective_from_existing(s, y)


@pytest.mark.parametrize("kind", ["cuda", "opencl"])
def test_the_schedules_that_tests_ask_for_by_target(kind: str) -> None:
    x = te.placeholder((40, 50), name="x")
    a, rows = np.random.default_rng(0).random((40, 50), "float32"), np.zeros(40, "float32")
    total = topi.sum(x, 1)
    emulate(get_reduce_schedule(kind)(total), [x, total], kind)(a, rows)
    np.testing.assert_allclose(rows, a.sum(1), rtol=1e-5)
    result, power = np.zeros((40, 50), "float32"), topi.exp(x)
    emulate(get_injective_schedule(kind)(power), [x, power], kind)(a, result)
    np.testing.assert_allclose(result, np.exp(a), rtol=1e-5)
