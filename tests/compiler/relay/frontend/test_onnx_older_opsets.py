"""Models of the first operator sets, products of matrices of unknown shape, and regions: compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler import relay
from compiler.relay.frontend import from_onnx

FLOAT = TensorProto.FLOAT


def _run(node, feeds, opset, shapes=None, weights=None):
    shapes = shapes or {name: value.shape for name, value in feeds.items()}
    inputs = [helper.make_tensor_value_info(name, FLOAT, shapes[name]) for name in feeds]
    constants = [numpy_helper.from_array(np.asarray(v), n) for n, v in (weights or {}).items()]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", FLOAT, None)], constants)
    mod, _ = from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))
    return relay.create_executor("vm", mod=mod).evaluate()(*feeds.values()).numpy()


def _floats(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div"])
def test_the_second_operand_begins_at_an_axis(operator):
    function = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[operator]
    a, b = _floats(2, 3, 3, 5), _floats(3) + 4
    node = helper.make_node(operator, ["a", "b"], ["y"], broadcast=1, axis=1)
    np.testing.assert_allclose(_run(node, {"a": a, "b": b}, 6), function(a, b[:, None, None]), rtol=1e-5)
    node = helper.make_node(operator, ["a", "b"], ["y"])
    want = function(a.transpose(0, 2, 3, 1), b)
    np.testing.assert_allclose(_run(node, {"a": a.transpose(0, 2, 3, 1).copy(), "b": b}, 7), want, rtol=1e-5)


def test_names_of_types_and_the_usual_axis():
    x = _floats(2, 3)
    cast = _run(helper.make_node("Cast", ["x"], ["y"], to="INT32"), {"x": x}, 1)
    np.testing.assert_array_equal(cast, x.astype("int32"))
    joined = _run(helper.make_node("Concat", ["a", "b"], ["y"]), {"a": x, "b": x + 1}, 1)
    np.testing.assert_array_equal(joined, np.concatenate([x, x + 1], 1))


def test_slopes_of_channels():
    x, slope = _floats(2, 3, 4, 3), np.array([0.1, 0.2, 0.3], "float32")
    got = _run(helper.make_node("PRelu", ["x", "s"], ["y"]), {"x": x}, 6, weights={"s": slope})
    np.testing.assert_allclose(got, np.where(x < 0, x * slope[:, None, None], x), rtol=1e-6)


def test_attributes_that_became_inputs():
    x = _floats(2, 3)
    padded = _run(helper.make_node("Pad", ["x"], ["y"], paddings=[0, 1, 2, 0], value=3.0), {"x": x}, 1)
    np.testing.assert_allclose(padded, np.pad(x, ((0, 2), (1, 0)), constant_values=3))
    tiled = _run(
        helper.make_node("Tile", ["x", "tiles", "axis"], ["y"]),
        {"x": x},
        1,
        weights={"tiles": np.array([3], "float32"), "axis": np.array([1], "float32")},
    )
    np.testing.assert_allclose(tiled, np.tile(x, (1, 3)))
    np.testing.assert_allclose(
        _run(helper.make_node("Clip", ["x"], ["y"], min=-0.5, max=0.25), {"x": x}, 6), np.clip(x, -0.5, 0.25)
    )


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((2, 3, 4, 5), (2, 3, 5, 6)),
        ((2, 4, 5), (5, 6)),
        ((2, 3, 4, 5), (5, 6)),
        ((4, 5), (2, 5, 6)),
        ((1, 4, 5), (3, 5, 2)),
    ],
)
def test_products_of_unknown_shape(a, b):
    x, y = _floats(*a), _floats(*b)
    unknown = {"a": [None] * len(a), "b": [None] * len(b)}
    got = _run(helper.make_node("MatMul", ["a", "b"], ["y"]), {"a": x, "b": y}, 17, unknown)
    np.testing.assert_allclose(got, x @ y, rtol=1e-4, atol=1e-5)


def test_max_roi_pool_matches_onnxruntime():
    import onnxruntime

    x, rois = _floats(2, 3, 8, 9), np.array([[0, 1, 1, 6, 5], [1, 0, 2, 3, 7], [0, 4, 4, 20, 20]], "float32")
    node = helper.make_node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=[2, 3], spatial_scale=0.9)
    inputs = [helper.make_tensor_value_info("x", FLOAT, x.shape), helper.make_tensor_value_info("r", FLOAT, rois.shape)]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", FLOAT, [3, 3, 2, 3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x, "r": rois})[0]
    np.testing.assert_allclose(_run(node, {"x": x, "r": rois}, 17), want, rtol=1e-6)


@pytest.mark.parametrize(
    ("operator", "attributes", "expected"),
    [
        ("Affine", {"alpha": 2.0, "beta": 0.5}, lambda x: 2 * x + 0.5),
        ("ScaledTanh", {"alpha": 2.0, "beta": 1.5}, lambda x: 2 * np.tanh(1.5 * x)),
        ("ParametricSoftplus", {"alpha": 2.0, "beta": 1.5}, lambda x: 2 * np.log(np.exp(1.5 * x) + 1)),
        ("Scale", {"scale": 3.0}, lambda x: 3 * x),
        ("ImageScaler", {"scale": 2.0, "bias": [1.0, 2, 3]}, lambda x: 2 * x + np.arange(1, 4).reshape(3, 1, 1)),
        ("Crop", {"border": [1, 2, 0, 1]}, lambda x: x[:, :, 2:-1, 1:]),
        ("Crop", {"border": [1, 0, 0, 0], "scale": [2, 3]}, lambda x: x[:, :, :2, 1:4]),
    ],
)
def test_operators_that_the_standard_had_on_trial(operator, attributes, expected):
    x = _floats(2, 3, 4, 5)
    got = _run(helper.make_node(operator, ["x"], ["y"], **attributes), {"x": x}, 6)
    np.testing.assert_allclose(got, expected(x), rtol=1e-5, atol=1e-6)


def test_layers_that_the_standard_had_on_trial():
    x, weight, bias = _floats(2, 3, 2, 2), _floats(5, 12), _floats(5)
    got = _run(helper.make_node("FC", ["x", "w", "b"], ["y"]), {"x": x}, 6, weights={"w": weight, "b": bias})
    np.testing.assert_allclose(got, x.reshape(2, 12) @ weight.T + bias, rtol=1e-5, atol=1e-6)
    moments = {name: np.abs(_floats(3)) for name in "sbmv"}
    node = helper.make_node("SpatialBN", ["x", *moments], ["y"], epsilon=0.01)
    s, b, m, v = (value.reshape(3, 1, 1) for value in moments.values())
    normal = _run(node, {"x": x}, 6, weights=moments)
    np.testing.assert_allclose(normal, (x - m) / np.sqrt(v + 0.01) * s + b, rtol=1e-4, atol=1e-5)
