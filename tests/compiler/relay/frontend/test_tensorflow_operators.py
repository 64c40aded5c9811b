"""Operators of TensorFlow beside TensorFlow itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.relay.frontend.tensorflow.messages import GraphDef

tf = pytest.importorskip("tensorflow")
from tests.compiler.relay.frontend.tensorflow_models import CASES, KERNEL, Case  # noqa: E402

MORE = {
    **{
        name: Case(getattr(tf.math, name), ((3, 4),))
        for name in ("atan", "softplus", "softsign", "erf", "expm1", "sinh")
    },
    "selu": Case(tf.nn.selu, ((3, 4),)),
    "explicit_padding": Case(lambda x: tf.nn.conv2d(x, KERNEL, 1, ((0, 0), (2, 0), (1, 3), (0, 0))), ((1, 6, 5, 3),)),
    "batch_norm": Case(
        lambda x: tf.compat.v1.nn.fused_batch_norm(
            x, (1.0, 2.0, 0.5), (0.1, 0.2, 0.3), (0.0, 1.0, 0.5), (1.0, 2.0, 0.5), is_training=False
        )[0],
        ((2, 4, 5, 3),),
    ),
    "clip": Case(lambda x: tf.clip_by_value(x, -0.5, 0.75), ((3, 4),)),
    "range": Case(lambda x: x + tf.range(4.0), ((3, 4),)),
    "half": Case(lambda x: tf.cast(tf.cast(x, tf.float16) + tf.constant(0.5, tf.float16), tf.float32), ((3, 4),)),
    "bits": Case(lambda a, b: (tf.bitwise.bitwise_and(a, b), tf.bitwise.bitwise_xor(a, b)), ((9,), (9,)), "int32", -20),
}


@pytest.mark.parametrize("name", [*CASES, *MORE])
def test_operator_computes_what_tensorflow_does(name: str) -> None:
    case = CASES.get(name) or MORE[name]
    signature = [tf.TensorSpec(shape, case.dtype, name=f"x{i}") for i, shape in enumerate(case.shapes)]
    function = tf.function(case.function, input_signature=signature, autograph=False).get_concrete_function()
    random = np.random.default_rng(0)
    inputs = [random.uniform(case.low, 2, shape).astype(case.dtype) for shape in case.shapes]
    result = function(*map(tf.constant, inputs))
    expected = list(result) if isinstance(result, (list, tuple)) else [result]
    outputs = [tensor.name for tensor in function.outputs]
    mod, params = relay.frontend.from_tensorflow(function.graph.as_graph_def(), outputs=outputs)
    given: Any = {f"x{i}": value for i, value in enumerate(inputs)}
    computed = relay.create_executor("debug", mod=mod).evaluate()(**given, **params)
    results = [computed] if hasattr(computed, "numpy") else list(computed)
    assert len(results) == len(expected)
    for own, reference in zip(results, expected, strict=True):
        assert own.dtype == reference.dtype.name
        np.testing.assert_allclose(own.numpy(), reference.numpy(), rtol=1e-4, atol=1e-5)


def test_messages_are_read_as_tensorflow_writes_them() -> None:
    """The table of fields agrees with TensorFlow's definitions: what is read is written back unchanged."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, (None, 4), name="x")
        tf.nn.conv2d(tf.reshape(x, (1, 2, 2, -1)), tf.ones((1, 1, 1, 2)), 1, "SAME", name="y")
    definition = graph.as_graph_def()
    definition.ClearField("versions")
    ours = GraphDef()
    ours.ParseFromString(definition.SerializeToString())
    again = tf.compat.v1.GraphDef()
    again.ParseFromString(ours.SerializeToString())
    assert again == definition
