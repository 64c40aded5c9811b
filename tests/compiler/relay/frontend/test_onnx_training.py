"""Steps of optimisers and linear models of ONNX, against the standard's formulas in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from compiler import relay
from compiler.relay.frontend.shared.errors import ConversionError, ModelError

_TRAINING = "ai.onnx.preview.training"
_RNG = np.random.default_rng(0)


def _model(
    operator: str, inputs: dict[str, np.ndarray], outputs: int, domain: str, attributes: dict[str, Any]
) -> onnx.ModelProto:
    names = [f"y{i}" for i in range(outputs)]
    it = helper.make_node(operator, list(inputs), names, domain=domain, **attributes)
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
    ]
    graph = helper.make_graph([it], "g", given, [helper.ValueInfoProto(name=name) for name in names])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid(domain, 1)])


def stepped(
    operator: str, inputs: dict[str, np.ndarray], outputs: int, domain: str = _TRAINING, **attributes: Any
) -> list[np.ndarray]:
    mod, _ = relay.frontend.from_onnx(_model(operator, inputs, outputs, domain, attributes))
    result = relay.create_executor("debug", mod=mod).evaluate()(**inputs)
    return [result.numpy()] if hasattr(result, "numpy") else [r.numpy() for r in result]


def _tensors(kinds: str, count: int = 2) -> dict[str, np.ndarray]:
    """Return tensors of every kind, positive as sums of squares are."""
    return {f"{kind}{i}": _RNG.uniform(0.1, 1, 3 + i).astype("float32") for kind in kinds for i in range(count)}


def _clock(steps: int) -> dict[str, np.ndarray]:
    return {"rate": np.array(0.1, "float32"), "steps": np.array(steps, "int64")}


def assert_close(results: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_adagrad_divides_by_the_root_of_all_squares() -> None:
    v = _tensors("xgh")
    results = stepped("Adagrad", {**_clock(3), **v}, 4, norm_coefficient=0.01, epsilon=1e-3, decay_factor=0.5)
    slopes = [0.01 * v[f"x{i}"] + v[f"g{i}"] for i in range(2)]
    sums = [v[f"h{i}"] + slopes[i] ** 2 for i in range(2)]
    moved = [v[f"x{i}"] - 0.1 / 2.5 * slopes[i] / (np.sqrt(sums[i]) + 1e-3) for i in range(2)]
    assert_close(results, [*moved, *sums])


@pytest.mark.parametrize("steps", [0, 3])
def test_adam_makes_up_for_moments_that_began_at_zero(steps: int) -> None:
    v = _tensors("xgvh", 1)
    attributes = {"norm_coefficient": 0.01, "norm_coefficient_post": 0.02, "alpha": 0.8, "beta": 0.6, "epsilon": 1e-3}
    results = stepped("Adam", {**_clock(steps), **v}, 3, **attributes)
    slope = 0.01 * v["x0"] + v["g0"]
    first, second = 0.8 * v["v0"] + 0.2 * slope, 0.6 * v["h0"] + 0.4 * slope**2
    rate = 0.1 * np.sqrt(1 - 0.6**steps) / (1 - 0.8**steps) if steps else 0.1
    moved = 0.98 * (v["x0"] - rate * first / (np.sqrt(second) + 1e-3))
    assert_close(results, [moved, first, second])


@pytest.mark.parametrize("mode", ["standard", "nesterov"])
@pytest.mark.parametrize("steps", [0, 2])
def test_momentum_takes_the_whole_first_gradient(mode: str, steps: int) -> None:
    v = _tensors("xgv")
    results = stepped("Momentum", {**_clock(steps), **v}, 4, norm_coefficient=0.01, alpha=0.8, beta=0.3, mode=mode)
    slopes = [0.01 * v[f"x{i}"] + v[f"g{i}"] for i in range(2)]
    speeds = [0.8 * v[f"v{i}"] + (0.3 if steps else 1) * slopes[i] for i in range(2)]
    ways = speeds if mode == "standard" else [s + 0.8 * w for s, w in zip(slopes, speeds, strict=True)]
    assert_close(results, [*(v[f"x{i}"] - 0.1 * ways[i] for i in range(2)), *speeds])


def test_tensors_without_their_gradients_are_refused() -> None:
    with pytest.raises(ModelError, match="2 inputs and 3 for each tensor, got 6"):
        stepped("Adagrad", {**_clock(1), **_tensors("xg")}, 2)


def test_a_linear_model_has_a_column_for_each_target() -> None:
    x, weights, intercepts = (_RNG.uniform(-1, 1, shape).astype("float32") for shape in ((4, 5), (3, 5), (3,)))
    attributes = {"coefficients": weights.ravel().tolist(), "targets": 3}
    (plain,) = stepped("LinearRegressor", {"x": x}, 1, "ai.onnx.ml", **attributes)
    (shifted,) = stepped("LinearRegressor", {"x": x}, 1, "ai.onnx.ml", intercepts=intercepts.tolist(), **attributes)
    np.testing.assert_allclose(plain, x @ weights.T, rtol=1e-5)
    np.testing.assert_allclose(shifted, x @ weights.T + intercepts, rtol=1e-5)
    with pytest.raises(ConversionError, match="post_transform = 'SOFTMAX' is not supported"):
        stepped("LinearRegressor", {"x": x}, 1, "ai.onnx.ml", post_transform="SOFTMAX", **attributes)
