"""Operators of TensorFlow Lite beside its own interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay

pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")
from tests.compiler.classic.frontend.tensorflow_models import CASES, EACH, KERNEL, MATRIX, VECTOR, Case  # noqa: E402


def inputs_of(case: Case) -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    return [random.uniform(case.low, 2, shape).astype(case.dtype) for shape in case.shapes]


def file_of(case: Case, samples: Any = None) -> bytes:
    """Return the file that TensorFlow converts a function to; quantized to int8 where samples are given."""
    signature = [tf.TensorSpec(shape, case.dtype) for shape in case.shapes]
    function = tf.function(case.function, input_signature=signature, autograph=False)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
    if samples is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: samples
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter.convert()


def expected_of(data: bytes, inputs: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    interpreter = tf.lite.Interpreter(
        model_content=data,
        experimental_op_resolver_type=tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    interpreter.allocate_tensors()
    for details, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(details["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]


def computed(data: bytes, inputs: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    mod, params = relay.frontend.from_tflite(data)
    result = relay.create_executor("debug", mod=mod).evaluate()(*inputs, **params)
    return [item.numpy() for item in ([result] if hasattr(result, "numpy") else result)]


@pytest.mark.parametrize("name", sorted(set(CASES) - {"local_response"}))  # its interpreter omits the last neighbour
def test_operator_computes_what_its_interpreter_does(name: str) -> None:
    case = CASES[name]
    data, inputs = file_of(case), inputs_of(case)
    results, expected = computed(data, inputs), expected_of(data, inputs)
    assert len(results) == len(expected)
    for result, reference in zip(results, expected, strict=True):
        assert result.dtype == reference.dtype
        np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5)


QUANTIZED = {
    "conv": Case(lambda x: tf.nn.relu(tf.nn.conv2d(x, KERNEL, 2, "SAME") + VECTOR), ((1, 9, 8, 3),)),
    "depthwise": Case(lambda x: tf.nn.relu6(tf.nn.depthwise_conv2d(x, EACH, (1, 1, 1, 1), "SAME")), ((1, 9, 8, 3),)),
    "dense": Case(lambda x: tf.matmul(x, MATRIX) + 0.5, ((1, 6),)),
    "residual": Case(lambda x: tf.nn.relu(x + tf.nn.max_pool2d(x, 3, 1, "SAME")), ((1, 9, 8, 3),)),
    "joined": Case(lambda x: tf.concat([x, tf.nn.sigmoid(x)], -1), ((1, 5, 4, 3),)),
    "same_scale": Case(lambda x: tf.concat([x, -x, tf.maximum(x, 0.5)], -1), ((1, 5, 4, 3),)),
    "product": Case(lambda a, b: tf.nn.relu(a * b), ((2, 7, 5), (2, 7, 5))),
    "broadcast": Case(lambda x: tf.nn.relu6(x * VECTOR), ((2, 7, 4),)),
    "difference": Case(lambda a, b: a - b, ((2, 7, 5), (2, 7, 5))),
    "sum": Case(lambda a: a * 0.5 + VECTOR, ((2, 7, 4),)),
    "sigmoid": Case(lambda x: tf.nn.sigmoid(x), ((1, 5, 4, 3),)),
    "padded": Case(lambda x: tf.pad(tf.nn.leaky_relu(x, 0.3), ((0, 0), (1, 2), (0, 1), (0, 0))), ((1, 9, 8, 3),)),
    "average": Case(lambda x: tf.nn.avg_pool2d(x, 2, 2, "SAME"), ((1, 9, 8, 3),)),
    "valid": Case(lambda x: tf.nn.conv2d(x, KERNEL, 1, "VALID", dilations=2), ((1, 9, 8, 3),)),
    "multiplied": Case(lambda x: tf.nn.depthwise_conv2d(x, EACH, (1, 2, 2, 1), "VALID"), ((1, 9, 8, 3),)),
    "pooled": Case(lambda x: tf.nn.softmax(tf.reduce_mean(x, (1, 2))), ((1, 9, 8, 3),)),
}


ROUNDED_TWICE = {"joined": 0.9, "padded": 0.75}
"""The interpreter has its own ways for slopes and sigmoids: a step of difference now and then; which share is the
same."""


@pytest.mark.parametrize("name", QUANTIZED)
def test_quantized_operators_compute_the_same_integers(name: str) -> None:
    case = QUANTIZED[name]
    random = np.random.default_rng(1)
    samples = [[random.uniform(-2, 2, shape).astype("float32") for shape in case.shapes] for _ in range(20)]
    data = file_of(case, samples)
    inputs = [random.integers(-128, 128, shape).astype("int8") for shape in case.shapes]
    (result,), (reference,) = computed(data, inputs), expected_of(data, inputs)
    assert result.dtype == reference.dtype == np.int8
    off = np.abs(result.astype(int) - reference.astype(int))
    if name in ROUNDED_TWICE:
        assert off.max() <= 1
        assert (off == 0).mean() > ROUNDED_TWICE[name]
    else:
        assert off.max() == 0


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("conv", "qnn.conv2d qnn.requantize"),
        ("dense", "qnn.dense qnn.requantize"),
        ("product", "qnn.mul"),
        ("sum", "fixed_point_multiply"),
        ("average", "nn.avg_pool2d"),
    ],
)
def test_quantized_operators_stay_integers(name: str, operators: str) -> None:
    case = QUANTIZED[name]
    samples = [[np.random.default_rng(i).uniform(-2, 2, s).astype("float32") for s in case.shapes] for i in range(5)]
    text = relay.frontend.from_tflite(file_of(case, samples))[0].astext()
    assert all(operator in text for operator in operators.split())
    assert "dequantize" not in text
