"""Random numbers of ONNX models: their shapes, distributions and seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from compiler import relay


def drawn(operator: str, shape: tuple[int, ...] = (100, 100), **attributes: Any) -> np.ndarray:
    """Return what a model of one node draws."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)] if operator.endswith("Like") else []
    own = {} if inputs else {"shape": shape}
    node = helper.make_node(operator, [value.name for value in inputs], ["y"], **own, **attributes)
    out = helper.make_tensor_value_info("y", attributes.get("dtype", TensorProto.FLOAT), shape)
    mod, _ = relay.frontend.from_onnx(helper.make_model(helper.make_graph([node], "drawn", inputs, [out])))
    run = relay.create_executor("debug", mod=mod).evaluate()
    return run(*(np.zeros(shape, "float32") for _ in inputs)).numpy()


@pytest.mark.parametrize("operator", ["RandomUniform", "RandomUniformLike"])
def test_uniform_numbers_fill_their_interval(operator: str) -> None:
    numbers = drawn(operator, low=-3.0, high=5.0)
    assert numbers.shape == (100, 100)
    assert numbers.dtype == np.float32
    counts, _ = np.histogram(numbers, bins=8, range=(-3, 5))
    assert counts.sum() == 10_000
    assert abs(counts - 1250).max() < 200


@pytest.mark.parametrize("operator", ["RandomNormal", "RandomNormalLike"])
def test_normal_numbers_have_their_mean_and_deviation(operator: str) -> None:
    numbers = drawn(operator, mean=2.0, scale=3.0, dtype=TensorProto.DOUBLE)
    assert numbers.dtype == np.float64
    assert abs(numbers.mean() - 2) < 0.2
    assert abs(numbers.std() - 3) < 0.2


def test_a_seed_decides_about_the_numbers() -> None:
    first, second, other = (drawn("RandomUniform", (10,), seed=seed) for seed in (5.0, 5.0, 6.0))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    assert (drawn("RandomUniform", (10,)) != drawn("RandomUniform", (10,))).any()


def test_a_float_may_be_written_as_an_int() -> None:
    numbers = drawn("RandomUniform", (100,), low=100, high=200)
    assert (numbers >= 100).all()
    assert (numbers < 200).all()


def test_classes_are_drawn_as_often_as_their_logarithms_say() -> None:
    rows = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], "float32")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, rows.shape)
    y = helper.make_tensor_value_info("y", TensorProto.INT64, None)
    node = helper.make_node("Multinomial", ["x"], ["y"], sample_size=2000, seed=1.0, dtype=TensorProto.INT64)
    mod, _ = relay.frontend.from_onnx(helper.make_model(helper.make_graph([node], "drawn", [x], [y])))
    classes = relay.create_executor("debug", mod=mod).evaluate()(np.log(rows) + 3).numpy()
    assert (classes.shape, classes.dtype) == ((2, 2000), np.int64)
    shares = [[(row == k).mean() for k in range(3)] for row in classes]
    np.testing.assert_allclose(shares, rows, atol=0.05)
