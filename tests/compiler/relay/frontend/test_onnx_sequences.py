"""Sequences and optional values of ONNX models: what ONNX Runtime makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler import relay
from compiler.relay.frontend.shared.errors import ConversionError

node = helper.make_node


def number(name: str, value: Any) -> onnx.NodeProto:
    return node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value), name))


def _model(nodes: list[onnx.NodeProto], inputs: dict[str, np.ndarray], outputs: str) -> onnx.ModelProto:
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in inputs.items()]
    graph = helper.make_graph(nodes, "g", given, [helper.ValueInfoProto(name=name) for name in outputs.split()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _images() -> dict[str, np.ndarray]:
    return {name: np.arange(12, dtype="float32").reshape(3, 4) * (i + 1) for i, name in enumerate("xyz")}


def _here(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    mod, _ = relay.frontend.from_onnx(model)
    result = relay.create_executor("debug", mod=mod).evaluate()(**inputs)
    return [result.numpy()] if hasattr(result, "numpy") else [r.numpy() for r in result]


def compare(nodes: list[onnx.NodeProto], outputs: str, inputs: dict[str, np.ndarray] | None = None) -> None:
    """Compare the outputs of a model of three images with ONNX Runtime's."""
    inputs = _images() if inputs is None else inputs
    model = _model(nodes, inputs, outputs)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(outputs.split(), inputs)
    for ours, theirs in zip(_here(model, inputs), expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("position", [None, 0, 2, 3, -1, -3])
def test_a_tensor_is_inserted_before_the_one_at_a_place(position: int | None) -> None:
    place = [] if position is None else ["place"]
    nodes = [] if position is None else [number("place", np.int64(position))]
    nodes += [
        node("SequenceConstruct", ["x", "y", "z"], ["all"]),
        node("SequenceInsert", ["all", "x", *place], ["more"]),
        node("ConcatFromSequence", ["more"], ["out"], axis=-1),
        node("SequenceLength", ["more"], ["length"]),
    ]
    compare(nodes, "out length")


@pytest.mark.parametrize("position", [None, 1, -2])
def test_the_last_tensor_is_erased_unless_another_is_named(position: int | None) -> None:
    place = [] if position is None else ["place"]
    nodes = [] if position is None else [number("place", np.int64(position))]
    nodes += [
        node("SequenceConstruct", ["x", "y", "z"], ["all"]),
        node("SequenceErase", ["all", *place], ["rest"]),
        node("ConcatFromSequence", ["rest"], ["out"], axis=1, new_axis=1),
    ]
    compare(nodes, "out")


@pytest.mark.parametrize(
    ("split", "attributes"),
    [(np.array([1, 3]), {}), (np.int64(3), {}), (None, {}), (None, {"keepdims": 0})],
    ids=["sizes", "one size", "single", "without axis"],
)
def test_a_tensor_is_split_into_a_sequence(split: Any, attributes: dict[str, int]) -> None:
    sizes = [] if split is None else ["sizes"]
    nodes = [] if split is None else [number("sizes", split)]
    nodes += [
        node("SplitToSequence", ["x", *sizes], ["parts"], axis=1, **attributes),
        number("last", np.int64(-1)),
        node("SequenceAt", ["parts", "last"], ["out"]),
        node("SequenceLength", ["parts"], ["length"]),
    ]
    compare(nodes, "out length", {"x": _images()["x"]})


def test_sequences_begin_empty_and_are_mapped() -> None:
    """The function sees one tensor of each sequence, and what is not a sequence every time."""
    a, b, c = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "abc")
    body = helper.make_graph([node("Mul", ["a", "b"], ["t"]), node("Add", ["t", "c"], ["u"])], "f", [a, b, c], [])
    body.output.append(helper.make_tensor_value_info("u", TensorProto.FLOAT, None))
    nodes = [
        node("SequenceEmpty", [], ["none"]),
        node("SequenceInsert", ["none", "x"], ["one"]),
        node("SequenceInsert", ["one", "y"], ["two"]),
        node("SequenceMap", ["two", "two", "z"], ["mapped"], body=body),
        node("ConcatFromSequence", ["mapped"], ["out"], axis=0),
    ]
    compare(nodes, "out")


def test_optional_values_hold_something_or_nothing() -> None:
    held = helper.make_tensor_type_proto(TensorProto.FLOAT, [3, 4])
    nodes = [
        node("Optional", ["x"], ["some"]),
        node("Optional", [], ["none"], type=held),
        node("OptionalHasElement", ["some"], ["yes"]),
        node("OptionalHasElement", ["none"], ["no"]),
        node("OptionalGetElement", ["some"], ["out"]),
    ]
    compare(nodes, "yes no out", {"x": _images()["x"]})


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [number("k", np.int64(3)), node("SequenceConstruct", ["x"], ["s"]), node("SequenceAt", ["s", "k"], ["o"])],
            "1 t",
        ),
        ([node("SequenceLength", ["x"], ["o"])], "must be a sequence, got a tensor"),
        ([node("SequenceEmpty", [], ["s"]), node("ConcatFromSequence", ["s"], ["o"], axis=0)], "empty sequence"),
        (
            [
                number("k", np.int64(0)),
                node("SplitToSequence", ["x", "k"], ["s"]),
                node("SequenceLength", ["s"], ["o"]),
            ],
            "0",
        ),
    ],
)
def test_what_does_not_fit_is_said(nodes: list[onnx.NodeProto], message: str) -> None:
    with pytest.raises(ConversionError, match=message):
        relay.frontend.from_onnx(_model(nodes, {"x": np.zeros((3, 4), "float32")}, "o"))
