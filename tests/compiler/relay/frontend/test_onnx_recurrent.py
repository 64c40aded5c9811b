"""Options of recurrent layers that the standard leaves open: as onnxruntime has them."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler import relay
from compiler.relay.frontend import from_onnx
from compiler.relay.interpreter import Interpreter


def calls_of(function):
    found = []
    relay.analysis.post_order_visit(function, lambda e: found.append(e) if isinstance(e, relay.Call) else None)
    return found


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


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("operator", "options"),
    [
        ("RNN", {"direction": "bidirectional"}),
        ("RNN", {"activations": ["Relu"]}),
        ("GRU", {"direction": "reverse"}),
        ("GRU", {"direction": "bidirectional", "linear_before_reset": 1}),
        ("LSTM", {"direction": "bidirectional"}),
    ],
)
def test_a_long_layer_is_one_operator_for_each_direction(operator, options):
    random, gates = np.random.default_rng(0), {"RNN": 1, **_GATES}[operator]
    ways, time, hidden = 2 if options.get("direction") == "bidirectional" else 1, 70, 19
    shapes = {"w": (gates * hidden, _INPUTS), "r": (gates * hidden, hidden), "b": (2 * gates * hidden,)}
    values = {name: random.normal(size=(ways, *shape)).astype("float32") * 0.3 for name, shape in shapes.items()}
    node = helper.make_node(operator, ["x", *values], ["y", "last"], hidden_size=hidden, **options)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [time, _BATCH, _INPUTS])
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in node.output]
    weights = [numpy_helper.from_array(value, name) for name, value in values.items()]
    graph = helper.make_graph([node], "g", [x], outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    mod, _ = from_onnx(model)
    names = [call.op.name for call in calls_of(mod["main"])]
    assert (names.count("nn.recurrent"), names.count("nn.dense")) == (ways, ways)
    feeds = {"x": random.normal(size=(time, _BATCH, _INPUTS)).astype("float32")}
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    results = relay.create_executor("graph", mod=mod).evaluate()(feeds["x"])
    for result, reference in zip(results, expected.run(None, feeds), strict=True):
        np.testing.assert_allclose(result.numpy(), reference, rtol=1e-4, atol=1e-5)
