"""References of operators on bfloat16, which NumPy does not have by itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.ir.module import IRModule
from compiler.relay.interpreter import Interpreter
from compiler.runtime.arrays.ndarray import numpy_dtype
from tests.compiler.relay.op.example import Example
from tests.compiler.relay.op.examples import EXAMPLES

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


def _in_bfloat16(example: Example) -> tuple[IRModule, list[Any]]:
    """Return a call whose float32 arrays are bfloat16, typed, and the arrays."""
    arrays = [a.astype(numpy_dtype("bfloat16")) if a.dtype == np.float32 else a for a in example.arrays]
    variables = [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    made = example.make(*variables)
    body = made.astuple() if hasattr(made, "astuple") else made
    return IRModule.from_expr(relay.Function(variables, body)), arrays


_WITHOUT = {
    "random.multinomial": "probabilities are float32 or float64",
    "nn.contrib_conv2d_winograd_without_weight_transform": "its transformations cancel more digits than bfloat16 has",
    "nn.conv2d_backward_weight": "the reference takes float32 alone",
    "vision.multibox_transform_loc": "the reference takes float32 alone",
    "qnn.quantize": "what is quantized is float32",
    "relay.op.annotation.simulated_quantize": "the reference returns float32",
    "qnn.simulated_quantize": "the reference returns float32",
    "nn.sparse_dense": "the reference returns float32",
    "nn.sparse_conv2d": "the reference returns float32",
}
_COMPUTED = [
    pytest.param(example, id=f"{name}-{i}", marks=() if number % 8 == 0 else pytest.mark.long)
    for number, (name, examples) in enumerate(EXAMPLES.items())
    for i, example in enumerate(examples)
    if name not in _WITHOUT and not name.startswith("dyn.") and any(a.dtype == np.float32 for a in example.arrays)
]


@pytest.mark.parametrize("example", _COMPUTED)
def test_kernels_compute_what_references_do(example: Example) -> None:
    module, arrays = _in_bfloat16(example)
    found = Interpreter(relay.transform.InferType()(module)).evaluate("main", arrays)
    wanted = list(found) if isinstance(found, (list, tuple)) else [found]
    built = relay.build(module, "llvm")
    executor = graph_executor.GraphModule(built["default"](compiler.cpu(0)))
    executor.run(**{f"x{i}": compiler.nd.array(a) for i, a in enumerate(arrays)})
    for i, value in enumerate(wanted):
        result = executor.get_output(i).numpy()
        if value.dtype == numpy_dtype("bfloat16"):
            result, value = (a.view(value.dtype).astype("float32") for a in (result, value))
        np.testing.assert_allclose(result, value, rtol=2**-6, atol=0.01)
