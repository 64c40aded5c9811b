"""Quantised ONNX operators: exact sums of bytes, and layers between (De)QuantizeLinear computed on integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from compiler import relay
from compiler.relay.frontend.shared.errors import ModelError

Array = NDArray[Any]
_TYPES = {
    "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
    "float32": TensorProto.FLOAT,
    "int32": TensorProto.INT32,
}


def _model(nodes: list[Any], x: Array, result: str, constants: dict[str, Array]) -> Any:
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    given = helper.make_tensor_value_info("x", _TYPES[str(x.dtype)], x.shape)
    graph = helper.make_graph(nodes, "g", [given], [helper.make_tensor_value_info("y", _TYPES[result], None)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)


def _here(model: Any, x: Array) -> Array:
    mod, _ = relay.frontend.from_onnx(model, freeze_params=True)
    return np.asarray(relay.create_executor("debug", mod=mod).evaluate()(x).numpy())


def _onnxruntime(model: Any, x: Array) -> Array:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": x})[0])


def _layer(operator: str, depth: int = 8) -> tuple[Any, Array]:
    """Return a layer of dequantised bytes whose weight has a scale for each output, and its input."""
    rng = np.random.default_rng(len(operator))
    attributes: dict[str, Any] = {}
    x_shape, w_shape, axis = (5, depth), (depth, 6), 1
    if operator == "Conv":
        x_shape, w_shape, axis = (1, depth, 6, 5), (6, depth // 2, 3, 3), 0
        attributes = {"group": 2, "pads": [1, 0, 0, 1], "strides": [2, 1]}
    elif operator == "Gemm":
        w_shape, axis, attributes = (6, depth), 0, {"transB": 1, "alpha": 0.5}
    x = rng.integers(0, 256, x_shape).astype("uint8")
    constants = {
        "xs": np.array(0.03, "float32"),
        "xz": np.array(131, "uint8"),
        "w": rng.integers(-128, 128, w_shape).astype("int8"),
        "ws": rng.uniform(0.01, 0.1, 6).astype("float32"),
        "wz": rng.integers(-3, 4, 6).astype("int8"),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "xs", "xz"], ["a"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["b"], axis=axis),
        helper.make_node(operator, ["a", "b"], ["y"], **attributes),
    ]
    return _model(nodes, x, "float32", constants), x


@pytest.mark.parametrize("operator", ["Conv", "Gemm", "MatMul"])
def test_layers_of_dequantised_bytes_are_computed_on_integers(operator: str) -> None:
    model, x = _layer(operator)
    assert "int16" in relay.frontend.from_onnx(model)[0].astext()
    np.testing.assert_allclose(_here(model, x), _onnxruntime(model, x), rtol=1e-4, atol=1e-4)


def test_sums_that_32_bits_might_not_hold_stay_real() -> None:
    model, _ = _layer("MatMul", 33_026)
    assert "int16" not in relay.frontend.from_onnx(model)[0].astext()


def test_scales_along_what_is_summed_stay_real() -> None:
    model, x = _layer("MatMul", 6)
    model.graph.node[1].attribute[0].i = 0
    assert "int16" not in relay.frontend.from_onnx(model)[0].astext()
    np.testing.assert_allclose(_here(model, x), _onnxruntime(model, x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("scale", "again", "zero", "is_same"),
    [
        (0.03, 0.03, 131, True),
        (0.1, 0.1, 131, True),
        (1e-29, 1e-29, 131, True),
        (0.03, np.nextafter(np.float32(0.03), np.float32(1)), 131, False),
        (0.03, 0.03, 130, False),
        (1e-44, 1e-44, 131, False),
    ],
)
def test_quantising_as_before_gives_back_the_bytes(scale: float, again: float, zero: int, is_same: bool) -> None:
    x = np.arange(256, dtype="uint8").reshape(2, 8, 16)
    constants = {
        "s": np.array(scale, "float32"),
        "t": np.array(again, "float32"),
        "z": np.array(131, "uint8"),
        "v": np.array(zero, "uint8"),
        "shape": np.array([16, 16]),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["a"]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[2, 0, 1]),
        helper.make_node("Reshape", ["b", "shape"], ["c"]),
        helper.make_node("QuantizeLinear", ["c", "t", "v"], ["y"]),
    ]
    model = _model(nodes, x, "uint8", constants)
    assert ("nearbyint" not in relay.frontend.from_onnx(model, freeze_params=True)[0].astext()) == is_same
    np.testing.assert_array_equal(_here(model, x), _onnxruntime(model, x))


@pytest.mark.parametrize("operator", ["MatMulInteger", "ConvInteger"])
def test_sums_of_extreme_bytes(operator: str) -> None:
    """By NumPy: without VNNI, ONNX Runtime adds pairs of products in sixteen bits, which overflow."""
    window = (3, 3) if operator == "ConvInteger" else ()
    x_shape, w_shape = ((1, 3, 3, 3), (4, 3, 3, 3)) if window else ((3, 7), (7, 4))
    rng = np.random.default_rng(7)
    x, w = rng.choice([0, 255], x_shape).astype("uint8"), rng.choice([-128, 127], w_shape).astype("int8")
    constants: dict[str, Array] = {"w": w, "xz": np.array(255, "uint8")}
    shifted, centred = x.astype(int) - 255, w.astype(int)
    if window:
        expected = np.einsum("nchw,ochw->no", shifted, centred)[..., None, None]
    else:
        constants["wz"] = np.array([-128, 127, 0, 1], "int8")
        expected = shifted @ (centred - constants["wz"])
    model = _model([helper.make_node(operator, ["x", *constants], ["y"])], x, "int32", constants)
    np.testing.assert_array_equal(_here(model, x), expected)


@pytest.mark.parametrize("number", [0.0, 3.0, -3.0])
def test_dynamic_ranges_of_equal_numbers(number: float) -> None:
    """Zeros alone have no range: their scale is 1, not 0, by which they would be divided."""
    x = np.full(4, number, "float32")
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    model = _model(nodes, x, "float32", {})
    np.testing.assert_array_equal(_here(model, x), x)
    np.testing.assert_array_equal(_onnxruntime(model, x), x)


def _of_four_bits(kind: int, shape: tuple[int, ...]) -> Any:
    low = -8 if kind == TensorProto.INT4 else 0
    values = np.random.default_rng(4).integers(low, low + 16, int(np.prod(shape)))
    return helper.make_tensor("w", kind, shape, values.tolist())


def _with_weights(weights: Any, *others: Any, attributes: dict[str, int], more: Any = ()) -> Any:
    """Return a product with the dequantised weights."""
    names = [weights.name, *(tensor.name for tensor in others)]
    nodes = [
        helper.make_node("DequantizeLinear", names, ["real"], **attributes),
        helper.make_node("MatMul", ["x", "real"], ["y"]),
        *more,
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, (3, weights.dims[0]))
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [given], [result], [weights, *others])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4])
def test_weights_of_four_bits_are_dequantised(kind: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.random((3, 5)).astype("float32")
    zero = helper.make_tensor("zero", kind, (3,), [3, 0, 7])
    scale = numpy_helper.from_array(rng.random(3).astype("float32"), "scale")
    by_column = _with_weights(_of_four_bits(kind, (5, 3)), scale, zero, attributes={"axis": 1})
    np.testing.assert_allclose(_here(by_column, x), _onnxruntime(by_column, x), rtol=1e-5)
    x = rng.random((3, 32)).astype("float32")
    scale = numpy_helper.from_array(rng.random((2, 3)).astype("float32"), "scale")
    by_block = _with_weights(_of_four_bits(kind, (32, 3)), scale, attributes={"axis": 0, "block_size": 16})
    np.testing.assert_allclose(_here(by_block, x), _onnxruntime(by_block, x), rtol=1e-5)


def test_weights_of_four_bits_that_another_operator_reads_are_refused() -> None:
    scale = numpy_helper.from_array(np.array(0.5, "float32"), "scale")
    cast = helper.make_node("Cast", ["w"], ["z"], to=TensorProto.FLOAT)
    model = _with_weights(_of_four_bits(TensorProto.INT4, (4, 2)), scale, attributes={}, more=[cast])
    with pytest.raises(ModelError, match="tensor 'w' has elements of type int4, which are not supported"):
        relay.frontend.from_onnx(model)


def test_weights_of_four_bits_must_be_as_many_as_their_shape_says() -> None:
    scale = numpy_helper.from_array(np.array(0.5, "float32"), "scale")
    weights = _of_four_bits(TensorProto.UINT4, (5, 3))
    weights.dims[0] = 7
    with pytest.raises(ModelError, match=r"tensor 'w' claims to have 21 elements \(shape \(7, 3\)\)"):
        relay.frontend.from_onnx(_with_weights(weights, scale, attributes={}))
