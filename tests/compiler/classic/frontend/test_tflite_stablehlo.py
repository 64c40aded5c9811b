"""Operators of StableHLO in models of TensorFlow Lite, beside NumPy: its interpreter has few of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")
from tests.compiler.classic.frontend.test_tflite_operators import computed, expected_of  # noqa: E402
from tests.compiler.classic.frontend.tflite_models import Given, model_of  # noqa: E402

A = np.random.default_rng(0).uniform(0.5, 3, (3, 4)).astype("float32")
B = np.random.default_rng(1).uniform(-2, 2, (3, 4)).astype("float32")
INTEGERS = np.array([7, -7, 5, -8], "int32"), np.array([2, 2, -3, 3], "int32")


def result_of(operator: str, inputs: list[Any], expected: Any, **options: object) -> Any:
    given = [Given(x.shape, str(x.dtype)) for x in inputs]
    data = model_of(f"STABLEHLO_{operator}", given, [Given(expected.shape, str(expected.dtype))], **options)
    (result,) = computed(data, inputs)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("operator", "inputs", "expected"),
    [
        ("ABS", [B], np.abs(B)),
        ("ADD", [A, B], A + B),
        ("ADD", [A > 1, B > 0], (A > 1) | (B > 0)),
        ("AND", [A > 1, B > 0], (A > 1) & (B > 0)),
        ("AND", INTEGERS, INTEGERS[0] & INTEGERS[1]),
        ("CBRT", [B], np.cbrt(B)),
        ("CLAMP", [np.float32(-1) * A, B, A], np.clip(B, -A, A)),
        ("COSINE", [B], np.cos(B)),
        ("DIVIDE", [A, B], A / B),
        ("DIVIDE", INTEGERS, np.array([3, -3, -1, -2], "int32")),
        ("EXPONENTIAL", [B], np.exp(B)),
        ("FLOOR", [B], np.floor(B)),
        ("LOG", [A], np.log(A)),
        ("LOGISTIC", [B], 1 / (1 + np.exp(-B))),
        ("MAXIMUM", [A, B], np.maximum(A, B)),
        ("MINIMUM", [A > 1, B > 0], (A > 1) & (B > 0)),
        ("MULTIPLY", [A, B], A * B),
        ("NEGATE", [A], -A),
        ("OR", INTEGERS, INTEGERS[0] | INTEGERS[1]),
        ("POWER", [A, B], A**B),
        ("REMAINDER", [B, A], np.fmod(B, A)),
        ("REMAINDER", INTEGERS, np.array([1, -1, 2, -2], "int32")),
        ("RSQRT", [A], 1 / np.sqrt(A)),
        ("SELECT", [B > 0, A, B], np.where(B > 0, A, B)),
        ("SHIFT_LEFT", [INTEGERS[0], np.abs(INTEGERS[1])], INTEGERS[0] << np.abs(INTEGERS[1])),
        ("SUBTRACT", [A, B], A - B),
        ("TANH", [B], np.tanh(B)),
        ("CONVERT", [B], B.astype("int32")),
        ("RESHAPE", [A], A.reshape(2, 6)),
    ],
)
def test_arithmetic(operator: str, inputs: list[Any], expected: Any) -> None:
    result_of(operator, list(inputs), expected)


@pytest.mark.parametrize(
    ("direction", "compare"), enumerate((np.equal, np.not_equal, np.greater_equal, np.greater, np.less_equal, np.less))
)
def test_comparisons(direction: int, compare: Any) -> None:
    x, y = np.array([1, 2, 3], "float32"), np.array([2, 2, 2], "float32")
    result_of("COMPARE", [x, y], compare(x, y), kind="StablehloCompareOptions", comparisonDirection=direction)


def test_shapes() -> None:
    result_of("TRANSPOSE", [A], A.T, kind="StablehloTransposeOptions", permutation=[1, 0])
    result_of("CONCATENATE", [A, B], np.hstack([A, B]), kind="StablehloConcatenateOptions", dimension=1)
    spread = np.broadcast_to(A.T[:, np.newaxis], (4, 2, 3)).copy()
    kind = "StablehloBroadcastInDimOptions"
    result_of("BROADCAST_IN_DIM", [A], spread, kind=kind, broadcastDimensions=[2, 0])
    options: Any = {"startIndices": [1, 0], "limitIndices": [3, 4], "strides": [1, 2]}
    result_of("SLICE", [A], A[1:3, ::2], kind="StablehloSliceOptions", **options)
    iota = np.broadcast_to(np.arange(4, dtype="int32")[:, np.newaxis], (4, 3)).copy()
    result_of("IOTA", [], iota, kind="StablehloIotaOptions", iotaDimension=0)


@pytest.mark.parametrize("start", [(0, 0), (1, 2), (9, -9)])
def test_parts_at_places_of_the_run(start: tuple[int, int]) -> None:
    at = [np.array(s, "int32") for s in start]
    i, j = min(start[0], 1), max(min(start[1], 1), 0)
    options: Any = {"kind": "StablehloDynamicSliceOptions", "sliceSizes": [2, 3]}
    result_of("DYNAMIC_SLICE", [A, *at], A[i : i + 2, j : j + 3], **options)
    changed = A.copy()
    changed[i : i + 2, j : j + 3] = B[:2, :3]
    result_of("DYNAMIC_UPDATE_SLICE", [A, B[:2, :3].copy(), *at], changed)


def test_padding_around_and_between() -> None:
    fields = {"edgePaddingLow": [1, -1], "edgePaddingHigh": [0, 2], "interiorPadding": [1, 0]}
    shape = (1 + 5, 4 - 1 + 2)
    data = model_of(
        "STABLEHLO_PAD", [Given((3, 4)), np.array(2.5, "float32")], [Given(shape)], kind="StablehloPadOptions", **fields
    )
    np.testing.assert_array_equal(computed(data, [A])[0], expected_of(data, [A])[0])


def test_products_along_axes() -> None:
    x = np.random.default_rng(2).uniform(-1, 1, (2, 3, 4, 5)).astype("float32")
    y = np.random.default_rng(3).uniform(-1, 1, (5, 2, 6)).astype("float32")
    options: Any = {
        "lhsBatchingDimensions": [0],
        "rhsBatchingDimensions": [1],
        "lhsContractingDimensions": [3],
        "rhsContractingDimensions": [0],
    }
    expected = np.einsum("bijk,kbn->bijn", x, y)
    result_of("DOT_GENERAL", [x, y], expected, kind="StablehloDotGeneralOptions", **options)


def test_variables_that_are_initialized() -> None:
    class Scaled(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = tf.Variable([1.0, 2.0, 3.0, 4.0])

        @tf.function(input_signature=[tf.TensorSpec((3, 4))])
        def __call__(self, x: Any) -> Any:
            return x * self.scale

    module = Scaled()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([module.__call__.get_concrete_function()], module)
    converter.experimental_enable_resource_variables = True
    data = converter.convert()
    np.testing.assert_allclose(computed(data, [A])[0], A * [1, 2, 3, 4], rtol=1e-6)
