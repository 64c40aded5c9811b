"""References of operators on bfloat16, which NumPy does not have by itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.ir.module import IRModule
from compiler.relay.interpreter import Interpreter
from compiler.runtime.ndarray import numpy_dtype

_FIRST = """
import numpy as np
import compiler
from compiler import relay
from compiler.relay.interpreter import Interpreter
x = relay.var("x", shape=(2, 2))
for made in (relay.zeros((2, 2), "bfloat16"), relay.nn.dense(x, x, out_dtype="bfloat16"), relay.cast(x, "bfloat16")):
    func = relay.Function(relay.analysis.free_vars(made), made)
    args = [np.ones((2, 2), "float32")] * len(func.params)
    print(Interpreter().evaluate(func, args).dtype)
"""


def test_the_type_is_known_to_the_first_call_of_a_process() -> None:
    done = subprocess.run([sys.executable, "-c", _FIRST], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["bfloat16"] * 3, done.stderr


@pytest.mark.parametrize(
    "make",
    [
        lambda x, dtype: relay.mean(x, axis=3),
        lambda x, dtype: relay.floor(x),
        lambda x, dtype: relay.nn.avg_pool2d(x, (2, 2)),
        lambda x, dtype: relay.image.resize2d(
            x, (5, 5), method="linear", coordinate_transformation_mode="align_corners"
        ),
        lambda x, dtype: relay.divide(x, relay.const(-2.0, dtype)),
        lambda x, dtype: relay.floor_mod(x, relay.const(1.5, dtype)),
        lambda x, dtype: relay.clip(x, -1.0, 1.5),
        lambda x, dtype: relay.nn.max_pool2d(x, (2, 2), padding=(1, 1)),
        lambda x, dtype: relay.image.dilation2d(x, relay.const(np.ones((2, 1, 1)), dtype)),
        lambda x, dtype: relay.nn.batch_matmul(relay.reshape(x, (2, 3, 3)), relay.reshape(x, (2, 3, 3))),
        lambda x, dtype: relay.nn.dense(relay.reshape(x, (6, 3)), relay.reshape(x, (6, 3))),
    ],
    ids=[
        "mean",
        "floor",
        "avg_pool2d",
        "resize2d",
        "divide",
        "floor_mod",
        "clip",
        "max_pool2d",
        "dilation2d",
        "batch_matmul",
        "dense",
    ],
)
def test_results_are_those_of_real_numbers_rounded(make: Callable[[Any, str], Any]) -> None:
    data = (np.arange(18) / 4 - 2).reshape(1, 2, 3, 3)
    found = {}
    for dtype in ("bfloat16", "float32"):
        x = relay.var("x", shape=(1, 2, 3, 3), dtype=dtype)
        mod = IRModule.from_expr(relay.Function([x], make(x, dtype)))
        found[dtype] = Interpreter(mod).evaluate("main", [data.astype(numpy_dtype(dtype))])
    assert found["bfloat16"].dtype == numpy_dtype("bfloat16")
    np.testing.assert_array_equal(found["bfloat16"], found["float32"].astype(numpy_dtype("bfloat16")))
