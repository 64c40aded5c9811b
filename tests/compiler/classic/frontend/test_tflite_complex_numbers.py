"""Complex numbers in TensorFlow Lite's models, beside its interpreter, and constants without elements."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import relay
from compiler.relay.frontend.shared.errors import ConversionError

pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")
from tests.compiler.classic.frontend.tensorflow_models import Case  # noqa: E402
from tests.compiler.classic.frontend.test_tflite_operators import computed, expected_of, file_of, inputs_of  # noqa: E402
from tests.compiler.classic.frontend.tflite_models import Given, flatbuffers, model_of, schema  # noqa: E402

CASES = {
    "magnitude": Case(lambda x: tf.abs(tf.signal.rfft2d(x, [4, 8])), ((2, 5, 7),)),
    "parts": Case(lambda x: (tf.math.real(tf.signal.rfft(x)), tf.math.imag(tf.signal.rfft(x))), ((3, 16),)),
    "frames": Case(lambda x: tf.cast(tf.signal.stft(x, 16, 8), tf.float32), ((2, 50),)),
    "shape": Case(lambda x: tf.abs(tf.reshape(tf.signal.rfft2d(x), (3, 4, 5))), ((3, 4, 8),)),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_spectrum_is_what_the_interpreter_computes(name: str) -> None:
    data, inputs = file_of(CASES[name]), inputs_of(CASES[name])
    for result, reference in zip(computed(data, inputs), expected_of(data, inputs), strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5)


def test_what_complex_numbers_are_not_computed_with_is_refused() -> None:
    spectrum = Given((1, 5), "complex64")
    model = schema.ModelT.InitFromObj(
        schema.Model.GetRootAs(model_of("RFFT2D", [Given((1, 8)), np.array([1, 8], "int32")], [spectrum]), 0)
    )
    doubled = schema.OperatorT()
    doubled.opcodeIndex, doubled.inputs, doubled.outputs = 1, [2, 2], [2]
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.ADD
    model.operatorCodes.append(code)
    model.subgraphs[0].operators.append(doubled)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    with pytest.raises(ConversionError, match=r"'y0' \(ADD\): of complex numbers only the shape, the parts and the"):
        relay.frontend.from_tflite(bytes(builder.Output()))


def test_real_numbers_have_no_parts() -> None:
    with pytest.raises(
        ConversionError, match=r"\(IMAG\): input 0 must be complex, as RFFT2D makes it, got Tensor\[\(2"
    ):
        relay.frontend.from_tflite(model_of("IMAG", [Given((2,))], [Given((2,))]))


def test_a_constant_without_elements_needs_no_buffer() -> None:
    data = model_of("RESHAPE", [Given((1,)), np.zeros(0, "int32")], [Given(())])
    np.testing.assert_array_equal(computed(data, [np.array([3], "float32")])[0], np.float32(3))
