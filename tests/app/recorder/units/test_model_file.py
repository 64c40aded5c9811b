"""A model's file is shown in an order in which values are made before they are read, however it is stored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

from app.artifacts import Drawing, Weight
from app.recorder.measuring.weights import summarised
from app.recorder.units.file_formats import read_file
from app.recorder.units.model_file import FileGraph, FileNode, FileValue, ModelFile, show_file
from compiler.ir.origin import OriginTable, recording


class Counted(tuple[str, ...]):
    """The inputs of a node, which count how often they are read."""

    reads = 0

    def __iter__(self) -> Iterator[str]:
        Counted.reads += 1
        return super().__iter__()


def node(name: str, inputs: tuple[str, ...], *outputs: str) -> FileNode:
    return FileNode("Op", name, Counted(inputs), outputs, {}, {})


def shown(nodes: list[FileNode]) -> tuple[list[str], set[tuple[int, int]]]:
    """Return the values that the lines make, in order, and the edges of the drawing, by the order of its nodes."""
    graph = FileGraph([FileValue("x", "(4) float32")], [], nodes, [], {})
    listing, drawing = show_file(ModelFile("ONNX", "model", graph, 1, 0), OriginTable(), lambda name, kind: None)
    assert drawing is not None
    lines = [line.text.partition(" = ")[0] for line in listing.lines if " = " in line.text]
    return lines, {(edge.source, edge.target) for edge in drawing.edges}


def test_nodes_are_shown_behind_those_whose_values_they_read_and_those_of_a_cycle_last() -> None:
    nodes = [
        node("d", ("c", "b"), "d"),
        node("loop", ("back", "x"), "forth"),
        node("c", ("a", ""), "c", ""),
        node("a", ("x", "held"), "a"),
        node("back", ("forth",), "back"),
        node("b", ("x", "x"), "b"),
    ]
    lines, edges = shown(nodes)
    assert lines == ["%a", "%c", "%b", "%d", "%forth", "%back"]
    assert edges == {(0, 1), (1, 2), (0, 3), (2, 4), (3, 4), (0, 5), (5, 6)}


def test_a_file_that_stores_its_nodes_backwards_is_not_read_once_more_for_each_of_them() -> None:
    nodes = [node(str(at), (str(at - 1) if at else "x",), str(at)) for at in range(200)]
    Counted.reads = 0
    assert shown(nodes)[0] == [f"%{at}" for at in range(200)]
    sound = Counted.reads
    Counted.reads = 0
    assert shown(nodes[::-1])[0] == [f"%{at}" for at in range(200)]
    assert Counted.reads == sound


DATA = Path(__file__).parents[3] / "compiler" / "classic" / "frontend" / "data"


def drawn(form: str, model: object) -> Drawing:
    """Return the drawing of a model as the importer of its format represents it."""
    file = read_file(form, model, 1, 0)
    assert file is not None
    table = OriginTable()

    def figures(name: str, kind: str) -> Weight | None:
        values = file.stored(name) if file.stored is not None else None
        return summarised(values, kind) if values is not None else None

    with recording(table):
        _, drawing = show_file(file, table, figures)
    assert drawing is not None
    assert drawing.is_sound
    return drawing


def test_a_flatbuffer_is_shown_with_its_options_scales_and_the_figures_of_its_weights() -> None:
    pytest.importorskip("tflite")
    from compiler.classic.frontend.tflite.reader import read_model

    graphs = read_model(DATA / "quantized.tflite")
    operators = [node for node in drawn("TensorFlow Lite", graphs).nodes if node.kind == "operator"]
    assert [node.label for node in operators] == [operation.operator for operation in graphs[0].operations]
    at = next(at for at, node in enumerate(operators) if node.label == "CONV_2D")
    shown, held = operators[at], graphs[0].operations[at]
    assert shown.attributes["StrideW"] == str(held.options.StrideW())
    quantization, values = graphs[0].tensors[held.outputs[0]].quantization, graphs[0].tensors[held.inputs[1]].data
    assert quantization is not None
    assert values is not None
    assert float(shown.attributes["scale"]) == pytest.approx(quantization.scale.item(), rel=1e-5)
    assert (shown.weights[0].minimum, shown.weights[0].maximum) == (values.min(), values.max())
    assert shown.weights[0].mean == pytest.approx(values.mean())


def test_a_graph_of_tensorflow_is_shown_with_its_attributes_and_constants() -> None:
    from compiler.classic.frontend.tensorflow.reader import read_graph

    message, _ = read_graph(DATA / "frozen.pb")
    drawing = drawn("TensorFlow", message)
    computing = [node for node in message.node if node.op not in ("Const", "Placeholder")]
    operators = [node for node in drawing.nodes if node.kind == "operator"]
    assert sorted((node.label, node.layers[0]) for node in operators) == sorted((n.op, n.name) for n in computing)
    [conv, *_] = [node for node in operators if node.label == "Conv2D"]
    assert "padding" in conv.attributes
    assert conv.weights[0].histogram
    assert len(drawing.edges) >= len(operators)


def test_a_damaged_weight_of_an_onnx_file_has_no_figures_and_others_have_them() -> None:
    text = """<ir_version: 8, opset_import: ["": 17]>
    network (float[1, 4] x) => (float[1, 4] y) <float[4] a = {1, 2, 3, 6}, float[4] b = {0, 0, 0, 0}>
    { h = Add(x, a) y = Mul(h, b) }"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer[1].dims[0] = 5
    add, mul = (node for node in drawn("ONNX", model).nodes if node.kind == "operator")
    assert [(w.name, w.minimum, w.maximum, w.mean) for w in add.weights] == [("a", 1.0, 6.0, 3.0)]
    assert (mul.weights, mul.constants) == ([], ["b (5) float32"])


def test_programs_of_pytorch_are_shown_with_their_numbers_and_weights() -> None:
    torch = pytest.importorskip("torch")
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten()).eval()
    example, weight = torch.zeros(1, 3, 7, 7), network[0].weight.detach()
    for program in (torch.jit.trace(network, example), torch.export.export(network, (example,))):
        drawing = drawn("PyTorch", program)
        source, conv, *others = drawing.nodes
        assert (source.kind, source.type) == ("input", "(1, 3, 7, 7) float32")
        assert [node.label for node in others] == ["aten::relu", "aten::flatten"]
        assert conv.attributes["stride"] == "[2, 2]"
        assert conv.constants == ["0.weight (4, 3, 3, 3) float32", "0.bias (4) float32"]
        assert conv.weights[0].minimum == pytest.approx(weight.min().item())
        assert [(edge.source, edge.target) for edge in drawing.edges] == [(0, 1), (1, 2), (2, 3)]


def test_branches_and_loops_of_a_script_are_within_their_nodes() -> None:
    torch = pytest.importorskip("torch")
    module = torch.jit.ScriptModule()
    module.define(
        "def forward(self, x: Tensor, n: int):\n  for i in range(n):\n    if bool(x.sum() > 0):\n      x = x * 2\n"
        "  return x\n"
    )
    drawing = drawn("PyTorch", module)
    nodes = {node.label: node for node in drawing.nodes}
    assert nodes["prim::Loop"].kind == nodes["prim::If"].kind == "control"
    assert [scope.rpartition(" ")[2] for scope in nodes["aten::mul"].scope] == ["body", "then"]
    assert nodes["aten::mul"].attributes == {"other": "2"}


def test_layers_of_keras_are_shown_with_their_options_each_call_of_one_and_those_of_models_within() -> None:
    pytest.importorskip("torch")
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras")
    x = image = keras.Input((8, 8, 4), name="image")
    inner = keras.Sequential([keras.Input((8, 8, 4)), keras.layers.Conv2D(4, 1, name="conv"), keras.layers.ReLU()])
    other = keras.layers.Conv2D(4, 3, padding="same", name="conv")
    drawing = drawn("Keras", keras.Model(image, other(inner(inner(x))) + 3.0))
    nodes = [node for node in drawing.nodes if node.kind == "operator"]
    assert [node.label for node in nodes] == ["Conv2D", "ReLU", "Conv2D", "ReLU", "Conv2D", "Add"]
    assert [node.attributes["kernel_size"] for node in nodes if node.label == "Conv2D"] == ["(1, 1)"] * 2 + ["(3, 3)"]
    first, again, third = (node.weights[0] for node in nodes if node.label == "Conv2D")
    assert (first.name, again.name, third.name) == ("conv/kernel", "conv/kernel", "conv.2/kernel")
    assert third.maximum == pytest.approx(other.get_weights()[0].max())
    assert nodes[-1].attributes == {"argument 1": "3"}
    assert len(drawing.edges) == len(nodes)
