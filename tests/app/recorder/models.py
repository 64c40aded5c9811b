"""ONNX files: a small sound one, and broken or hostile ones with what is said about them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper


def model(nodes: Sequence[NodeProto], weights: Sequence[TensorProto] = ()) -> ModelProto:
    """Return a model from ``x`` to ``y``, four numbers each."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy")
    graph = helper.make_graph(list(nodes), "graph", [x], [y], list(weights))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def two_layers() -> bytes:
    """Return a network of two dense layers with an activation in between."""
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.normal(size=size).astype("float32"), name)
        for name, size in (("w1", (4, 16)), ("w2", (16, 4)))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="bend"),
        helper.make_node("MatMul", ["b", "w2"], ["y"], name="second"),
    ]
    return bytes(model(nodes, weights).SerializeToString())


def equal_layers() -> bytes:
    """Return a network of a dense layer with an activation, and two more, which are of one shape."""
    weights = [numpy_helper.from_array(np.ones((4, 4), "float32"), name) for name in ("w1", "w2", "w3")]
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="bend"),
        helper.make_node("MatMul", ["b", "w2"], ["c"], name="second"),
        helper.make_node("MatMul", ["c", "w3"], ["y"], name="third"),
    ]
    return bytes(model(nodes, weights).SerializeToString())


def _with_weight(weight: TensorProto) -> bytes:
    return bytes(model([helper.make_node("Add", ["x", "w"], ["y"])], [weight]).SerializeToString())


def _external() -> bytes:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="../../etc/passwd")
    return _with_weight(weight)


def _unknown() -> bytes:
    first = helper.make_node("Frobnicate", ["x"], ["a"], name="first", domain="acme")
    return bytes(
        model([first, helper.make_node("Twist", ["a"], ["y"], name="second", domain="acme")]).SerializeToString()
    )


def _cyclic() -> bytes:
    forth = helper.make_node("Add", ["x", "b"], ["a"], name="forth")
    return bytes(model([forth, helper.make_node("Relu", ["a"], ["b"], name="back")]).SerializeToString())


HOSTILE: dict[str, tuple[bytes, int, tuple[str, ...]]] = {
    "truncated": (two_layers()[:150], 3, ("ModelProto",)),
    "unknown operators": (_unknown(), 4, ("2 operators", "Frobnicate", "'first'", "Twist", "'second'")),
    "external data": (_external(), 3, ("passwd",)),
    "cyclic": (_cyclic(), 4, ("cycle", "'forth'", "'back'")),
    "giant": (
        _with_weight(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 20, 1 << 20], raw_data=b"four")),
        4,
        ("'w'", "1,099,511,627,776 elements"),
    ),
}
"""What is wrong -> the file, the line of the script that finds out, and words of the message."""
