"""Sparse weights of TensorFlow Lite: in blocks, and of single elements that ``DENSIFY`` spreads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.relay.frontend.shared.errors import ModelError

tflite = pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")
from compiler.classic.frontend.tflite.sparsity import dense  # noqa: E402
from tests.compiler.classic.frontend.test_tflite_operators import computed, expected_of  # noqa: E402

RANDOM = np.random.default_rng(0)
WEIGHT = RANDOM.normal(size=(64, 32)).astype("float32")
BLOCKS = WEIGHT * np.repeat(RANDOM.random((16, 32)) < 0.15, 4, 0)
ELEMENTS = WEIGHT * (RANDOM.random((64, 32)) < 0.1)


def sparse_file(weight: Any) -> Any:
    function = tf.function(lambda x: tf.matmul(x, weight), input_signature=[tf.TensorSpec((2, 64), tf.float32)])
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
    converter.optimizations = [tf.lite.Optimize.EXPERIMENTAL_SPARSITY]
    return converter.convert()


@pytest.mark.parametrize(("weight", "operators"), [(BLOCKS, 1), (ELEMENTS, 2)])
def test_sparse_weights_are_read(weight: Any, operators: int) -> None:
    data = sparse_file(weight)
    graph = tflite.Model.GetRootAs(data, 0).Subgraphs(0)
    assert graph.OperatorsLength() == operators  # single elements are spread by an operator of its own
    assert any(graph.Tensors(i).Sparsity() is not None for i in range(graph.TensorsLength()))
    inputs = [RANDOM.normal(size=(2, 64)).astype("float32")]
    np.testing.assert_allclose(computed(data, inputs)[0], expected_of(data, inputs)[0], rtol=1e-5, atol=1e-5)
    _, params = relay.frontend.from_tflite(data)
    assert [value.shape for value in params.values()] == [(32, 64)]


def test_levels_that_fit_no_shape_are_refused() -> None:
    graph = tflite.Model.GetRootAs(sparse_file(BLOCKS), 0).Subgraphs(0)
    sparsity = next(s for i in range(graph.TensorsLength()) if (s := graph.Tensors(i).Sparsity()) is not None)
    with pytest.raises(ModelError, match=r"a sparse tensor of 3 axes and 1 in blocks has the traversal \[0, 1, 2\]"):
        dense(np.zeros(9, "float32"), (2, 3, 4), sparsity)
    with pytest.raises(ModelError, match=r"of shape \(32, 64\) stores 9 elements, some outside of it"):
        dense(np.zeros(9, "float32"), (32, 64), sparsity)
    with pytest.raises(ModelError, match=r"of shape \(32, 8\) stores 2048 elements, some outside of it"):
        dense(np.zeros(2048, "float32"), (32, 8), sparsity)
