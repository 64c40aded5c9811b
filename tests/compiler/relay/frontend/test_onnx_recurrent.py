"""Options of recurrent layers that the standard leaves open: as onnxruntime has them."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.relay.frontend import from_onnx
from compiler.relay.interpreter import Interpreter

_GATES = {"GRU": 3, "LSTM": 4}
_TIME, _BATCH, _INPUTS, _HIDDEN = 4, 2, 3, 5


@pytest.mark.parametrize(
    ("operator", "options"),
    [
        ("LSTM", {"clip": 0.3}),
        ("LSTM", {"input_forget": 1, "direction": "reverse"}),
        ("GRU", {"clip": 0.3, "linear_before_reset": 1}),
        ("GRU", {"direction": "bidirectional"}),
    ],
)
def test_options_mean_what_they_mean_in_onnxruntime(operator, options):
    random, gates = np.random.default_rng(0), _GATES[operator]
    ways = 2 if options.get("direction") == "bidirectional" else 1
    shapes = {"w": (gates * _HIDDEN, _INPUTS), "r": (gates * _HIDDEN, _HIDDEN), "b": (2 * gates * _HIDDEN,)}
    values = {name: random.normal(size=(ways, *shape)).astype("float32") for name, shape in shapes.items()}
    values["lengths"] = np.array([4, 2], "int32")
    node = helper.make_node(operator, ["x", *values], ["y", "last"], hidden_size=_HIDDEN, **options)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [_TIME, _BATCH, _INPUTS])
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in node.output]
    weights = [numpy_helper.from_array(value, name) for name, value in values.items()]
    graph = helper.make_graph([node], "g", [x], outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feeds = {"x": random.normal(size=(_TIME, _BATCH, _INPUTS)).astype("float32")}
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    results = Interpreter(from_onnx(model)[0]).evaluate("main", feeds)
    for result, reference in zip(results, expected.run(None, feeds), strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5)
