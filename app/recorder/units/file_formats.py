"""What the importers' own forms of models hold, as the graph of a file: one reader per format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from app.recorder.units.graph_drawing import MAX_SCOPES
from app.recorder.units.model_file import FileGraph, FileNode, FileValue, ModelFile, number_text, read_onnx, type_words
from compiler.ir.error import TVMError

if TYPE_CHECKING:
    from onnx import ModelProto

    from compiler.classic.frontend.keras.reader import Application, Model
    from compiler.classic.frontend.keras.reader import Operation as Layer
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


@reader("PyTorch")
def _pytorch(model: Any) -> Stored:
    from app.recorder.units.pytorch_files import read_program, read_script

    return read_script(model) if hasattr(model, "original_name") else read_program(model)


@reader("Keras")
def _keras(model: Model) -> Stored:
    flat = _Layers()
    names = {id(tensor): tensor.name for tensor in model.inputs}
    inputs = [FileValue(tensor.name, _keras_type(tensor)) for tensor in model.inputs]
    flat.model(model, names)
    made = FileGraph(inputs, flat.weights, flat.nodes, [names[id(tensor)] for tensor in model.outputs], flat.types)
    return f"model {model.name}", made, flat.values


class _Layers:
    """The layers of a model of Keras, with those of the models that it calls, which the importer converts in place."""

    def __init__(self) -> None:
        self.nodes: list[FileNode] = []
        self.weights: list[FileValue] = []
        self.types: dict[str, str] = {}
        self._held: dict[str, Layer] = {}

    def model(self, model: Model, names: dict[int, str]) -> None:
        """Add the layers of a model; ``names`` are those of its tensors so far, by identity."""
        from compiler.classic.frontend.keras.reader import applications, is_model

        for application in applications(model):
            inner = application.operation
            if is_model(inner):
                within = {
                    id(own): names[id(given)] for own, given in zip(inner.inputs, application.tensors, strict=False)
                }
                self.model(inner, within)
                results = [within[id(tensor)] for tensor in inner.outputs]
            else:
                results = self._add(application, [names[id(tensor)] for tensor in application.tensors])
            names.update(zip(map(id, application.outputs), results, strict=False))

    def _add(self, application: Application, inputs: Sequence[str]) -> list[str]:
        from compiler.classic.frontend.keras.reader import kind_of

        layer = application.operation
        own = _unused(layer.name, self.types)
        outputs = [own, *(f"{own}:{at}" for at in range(1, len(application.outputs)))]
        self.types |= {name: _keras_type(tensor) for name, tensor in zip(outputs, application.outputs, strict=True)}
        read = (*inputs, *self._weights_of(layer))
        self.nodes.append(FileNode(kind_of(layer), layer.name, read, tuple(outputs), _settings(application), {}))
        return outputs

    def _weights_of(self, layer: Layer) -> list[str]:
        """Return the names of a layer's weights; of another layer with the same name, they have a number."""
        from compiler.classic.frontend.keras.reader import is_layer, weights_of

        weights = weights_of(layer) if is_layer(layer) else {}
        label = next((name for name, held in self._held.items() if held is layer), None)
        if label is None:
            label = _unused(layer.name, self._held)
            self._held[label] = layer
            self.weights += [FileValue(f"{label}/{n}", type_words(w.shape, str(w.dtype))) for n, w in weights.items()]
        return [f"{label}/{name}" for name in weights]

    def values(self, name: str) -> npt.NDArray[Any] | None:
        """Return the values of a weight."""
        from compiler.classic.frontend.keras.reader import weights_of

        layer, _, weight = name.rpartition("/")
        return weights_of(self._held[layer]).get(weight) if layer in self._held else None


def _unused(name: str, taken: Container[str]) -> str:
    return next(own for own in chain([name], (f"{name}.{at}" for at in count(2))) if own not in taken)


def _settings(application: Application) -> dict[str, str]:
    """Return the options of a layer, and the numbers that it is called with."""
    from compiler.classic.frontend.keras.reader import settings_of

    numbers = {f"argument {at}": v for at, v in enumerate(application.positional) if isinstance(v, (int, float))}
    options = {**settings_of(application.operation), **numbers}
    kinds = (bool, int, float, str, list, tuple)
    return {n: _told(v) for n, v in options.items() if isinstance(v, kinds) and n not in ("name", "trainable")}


def _keras_type(tensor: Any) -> str:
    return type_words(["?" if extent is None else extent for extent in tensor.shape], str(tensor.dtype))
