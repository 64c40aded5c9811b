"""What the importers' own forms of models hold, as the graph of a file: one reader per format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from app.recorder.units.graph_drawing import MAX_SCOPES
from app.recorder.units.model_file import FileGraph, FileNode, FileValue, ModelFile, number_text, read_onnx, type_words
from compiler.ir.error import TVMError

if TYPE_CHECKING:
    from onnx import ModelProto

    from compiler.classic.frontend.tflite.reader import Operation, Subgraph

Values = Callable[[str], npt.NDArray[Any] | None]
Stored = tuple[str, FileGraph, Values]
Read = Callable[[Any], Stored]
READERS: dict[str, Read] = {}
"""By what the importer calls the format: returns a title, the graph, and what returns a tensor's values by its name."""
MAX_BODIES = 200
"""Graphs that the nodes of a file call, each once for every call, that are shown."""


def reader(form: str) -> Callable[[Read], Read]:
    """Register a reader of a format."""

    def register(read: Read) -> Read:
        READERS[form] = read
        return read

    return register


def read_file(form: str, model: object, line: int | None, rows: int) -> ModelFile | None:
    """Keep what is shown of a model; None if its format has no reader, or it is damaged, as its importer will say."""
    read = READERS.get(form)
    if read is None:
        return None
    try:
        title, graph, values = read(model)
    except TVMError:
        return None
    return ModelFile(form, title, graph, line, rows, values)


@reader("ONNX")
def _onnx(model: ModelProto) -> Stored:
    from compiler.relay.frontend.onnx.reader import tensor_array

    tensors = {tensor.name: tensor for tensor in model.graph.initializer}

    def values(name: str) -> npt.NDArray[Any] | None:
        try:
            return tensor_array(tensors[name]) if name in tensors else None
        except TVMError:  # the importer refuses it, at the line of the script
            return None

    return *read_onnx(model), values


@reader("TensorFlow Lite")
def _tflite(graphs: Sequence[Subgraph]) -> Stored:
    from compiler.classic.frontend.tflite.reader import reading

    flat = _Flat(graphs)
    with reading():
        return "model of TensorFlow Lite", flat.graph(0, 0), flat.values.get


class _Flat:
    """The subgraphs of a flatbuffer."""

    def __init__(self, graphs: Sequence[Subgraph]) -> None:
        self._graphs = graphs
        self.values: dict[str, npt.NDArray[Any]] = {}
        self._left = MAX_BODIES

    def graph(self, number: int, depth: int) -> FileGraph:
        """Return a subgraph with those that its nodes call."""
        graph = self._graphs[number]
        count = Counter(tensor.name for tensor in graph.tensors)
        names = [
            tensor.name if tensor.name and count[tensor.name] == 1 else f"{tensor.name or 'tensor'}:{at}"
            for at, tensor in enumerate(graph.tensors)
        ]
        named = list(zip(names, graph.tensors, strict=True))
        types = {name: type_words(tensor.shape, tensor.dtype) for name, tensor in named}
        values = {name: tensor.data for name, tensor in named if tensor.data is not None}
        self.values |= values if number == 0 else {}
        weights = [FileValue(name, types[name]) for name in values]
        nodes = [self._node(graph, operation, names, depth) for operation in graph.operations]
        inputs = [FileValue(names[at], types[names[at]]) for at in graph.inputs if at >= 0]
        return FileGraph(inputs, weights, nodes, [names[at] for at in graph.outputs if at >= 0], types)

    def _node(self, graph: Subgraph, operation: Operation, names: Sequence[str], depth: int) -> FileNode:
        from compiler.classic.frontend.tflite.reader import called

        bodies = {}
        for number in called(operation) if depth < MAX_SCOPES else ():
            if 0 <= number < len(self._graphs) and self._left:
                self._left -= 1
                bodies[f"graph {number}"] = self.graph(number, depth + 1)
        inputs, outputs = (
            tuple(names[at] if at >= 0 else "" for at in side) for side in (operation.inputs, operation.outputs)
        )
        label = graph.tensors[operation.outputs[0]].name if operation.outputs else ""
        attributes = {**_options(operation.options), **_scales(graph, operation)}
        return FileNode(operation.operator, label, inputs, outputs, attributes, bodies)


def _options(options: object) -> dict[str, str]:
    """Return what a table of a flatbuffer holds: its accessors without arguments are its fields."""
    names = [name for name in dir(options) if name[:1].isupper() and not name.startswith(("Init", "GetRootAs"))]
    found = {}
    for name in names:
        try:
            value = getattr(options, name)()
        except TypeError:  # an element of a vector, which is asked for by its index
            continue
        if isinstance(value, (bool, int, float)) and not name.endswith(("Length", "IsNone")):
            found[name] = number_text(value)
    return found


def _scales(graph: Subgraph, operation: Operation) -> dict[str, str]:
    """Return how the integers of a node's first result stand for numbers, if they do by one scale."""
    quantization = graph.tensors[operation.outputs[0]].quantization if operation.outputs else None
    if quantization is None or quantization.scale.size != 1:
        return {}
    return {"scale": f"{quantization.scale.item():g}", "zero point": f"{quantization.zero_point.item():g}"}


@reader("TensorFlow")
def _tensorflow(graph: Any) -> Stored:
    from compiler.classic.frontend.tensorflow.reader import attributes_of

    values: dict[str, npt.NDArray[Any]] = {}
    made = FileGraph([], [], [], [], {})
    results: dict[str, list[str]] = {}
    for read in sorted({_value_name(name) for node in graph.node for name in node.input}):
        results.setdefault(read.partition(":")[0], []).append(read)
    for node in graph.node:
        attributes = attributes_of(node)
        if node.op == "Const":
            values[node.name] = attributes["value"]
            made.weights.append(FileValue(node.name, _told(attributes["value"])))
        elif node.op == "Placeholder":
            extents = ["?" if extent < 0 else extent for extent in attributes.get("shape") or []]
            made.inputs.append(FileValue(node.name, type_words(extents, str(attributes["dtype"]))))
        else:
            told = {name: _told(value) for name, value in attributes.items() if not name.startswith("_")}
            inputs = tuple(_value_name(name) for name in node.input if not name.startswith("^"))
            outputs = tuple(dict.fromkeys([node.name, *results.get(node.name, ())]))
            made.nodes.append(FileNode(node.op, node.name, inputs, outputs, told, {}))
    return "graph of TensorFlow", made, values.get


def _value_name(name: str) -> str:
    return name.removesuffix(":0")


def _told(value: object) -> str:
    if isinstance(value, np.ndarray):
        return type_words(value.shape, str(value.dtype))
    return number_text(value) if isinstance(value, (int, float)) else str(value)
