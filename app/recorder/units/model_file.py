"""A model's file as it is stored, before anything is converted: its nodes as text and as a drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
import numpy.typing as npt

from app.artifacts import (
    FILE_KEY,
    Drawing,
    GraphEdge,
    GraphNode,
    Line,
    Listing,
    NodeKind,
    Weight,
    drawing_key,
    make_listing,
)
from app.recorder.units.graph_drawing import MAX_ATTRIBUTE, MAX_NODES, MAX_SCOPES
from compiler.ir.origin import NO_SPAN, OriginTable
from compiler.runtime.arrays.ndarray import NDArray

if TYPE_CHECKING:
    import onnx

_DTYPES = {"to", "dtype", "output_dtype"}
"""Attributes that number a data type."""
MAX_LINES = 12_000
"""The maximum length of the text of a file."""
MAX_LETTERS = 1_000
"""The maximum length of its lines."""
MAX_LISTED = 50
"""The maximum number of attributes, and of tensors, that are told of a node."""


@dataclass(frozen=True, slots=True)
class FileValue:
    """An input, or a tensor that the file holds."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class FileNode:
    """A node; ``bodies`` are the graphs among its attributes."""

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, str]
    bodies: dict[str, FileGraph]

    @property
    def called(self) -> str:
        """What the importer calls the node."""
        return self.name or next(filter(None, self.outputs), "")

    @property
    def row(self) -> str:
        """The label of the origin that the importer mints for the node."""
        return f"{self.operator} {self.called}".strip()


@dataclass(frozen=True, slots=True)
class FileGraph:
    """A graph of the file, its nodes in the order in which they are stored."""

    inputs: list[FileValue]
    weights: list[FileValue]
    nodes: list[FileNode]
    outputs: list[str]
    types: dict[str, str]
    """Of the values whose types the file tells."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What a file holds, without the values of its tensors."""

    form: str
    """Its format."""
    title: str
    graph: FileGraph
    line: int | None
    rows: int
    """How many origins there were when it was read; those of its nodes come later."""
    stored: Callable[[str], npt.NDArray[Any] | None] | None = None
    """Returns the values of a tensor by name; of one that was imported, the importer's are there already."""
    imported: Mapping[str, NDArray] = field(default_factory=dict)
    """The weights, if it was imported."""


Figures = Callable[[str, str], Weight | None]
"""Returns the figures of a tensor by its name and type."""


def read_onnx(model: onnx.ModelProto) -> tuple[str, FileGraph]:
    """Return the title and the graph of an ONNX model."""
    opsets = ", ".join(f"{o.domain or 'ai.onnx'} {o.version}" for o in model.opset_import)
    producer = f"{model.producer_name} {model.producer_version}".strip()
    said = [f"operators of {opsets}" if opsets else "", f"made by {producer}" if producer else ""]
    title = ", ".join(filter(None, [f"model {model.graph.name or 'without a name'}", *said]))
    return title, _graph(model.graph, 0)


def _graph(graph: onnx.GraphProto, depth: int) -> FileGraph:
    kinds = [_type(tensor.dims, tensor.data_type) for tensor in graph.initializer]
    weights = [FileValue(t.name, kind) for t, kind in zip(graph.initializer, kinds, strict=True)]
    held = {weight.name for weight in weights}
    inputs = [FileValue(item.name, _value_type(item)) for item in graph.input if item.name not in held]
    typed = [*graph.input, *graph.value_info, *graph.output]
    return FileGraph(
        inputs,
        weights,
        [_node(node, depth) for node in graph.node],
        [item.name for item in graph.output],
        {item.name: text for item in typed if (text := _value_type(item))},
    )


def _node(node: onnx.NodeProto, depth: int) -> FileNode:
    bodies = {a.name: _graph(a.g, depth + 1) for a in node.attribute if a.HasField("g") and depth < MAX_SCOPES}
    operator = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
    attributes = {a.name: _attribute(a) for a in node.attribute if a.name not in bodies}
    return FileNode(operator, node.name, tuple(node.input), tuple(node.output), attributes, bodies)


def _attribute(attribute: onnx.AttributeProto) -> str:
    from onnx import AttributeProto
    from onnx.helper import get_attribute_value

    if attribute.ref_attr_name:
        return f"attribute {attribute.ref_attr_name} of the function"
    if attribute.type == AttributeProto.TENSOR:
        return _type(attribute.t.dims, attribute.t.data_type)
    if attribute.type == AttributeProto.INT and attribute.name in _DTYPES:
        return _dtype(attribute.i)
    if attribute.type in (AttributeProto.STRING, AttributeProto.INT, AttributeProto.FLOAT):
        value = get_attribute_value(attribute)
        return value.decode(errors="replace") if isinstance(value, bytes) else number_text(value)
    if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS):
        values = get_attribute_value(attribute)
        return f"[{', '.join(map(number_text, values[:16]))}{', …' if len(values) > 16 else ''}]"
    return str(AttributeProto.AttributeType.Name(attribute.type)).lower()


def number_text(value: float) -> str:
    """Return a number of a file: a whole one with all of its digits."""
    return str(value) if isinstance(value, int) else f"{value:g}"


def _value_type(item: onnx.ValueInfoProto) -> str:
    tensor = item.type.tensor_type
    if not item.type.HasField("tensor_type"):
        return (item.type.WhichOneof("value") or "").removesuffix("_type")
    if not tensor.HasField("shape"):
        return f"of any shape, {_dtype(tensor.elem_type)}"
    return _type([d.dim_param or (d.dim_value if d.HasField("dim_value") else "?") for d in tensor.shape.dim],
                 tensor.elem_type)  # fmt: skip


def _type(dims: Sequence[object], dtype: int) -> str:
    return type_words(dims, _dtype(dtype))


def type_words(dims: Sequence[object], dtype: str) -> str:
    """Return a type in the words of drawings: ``(1, 64) float32``."""
    return f"({', '.join(map(str, dims))}) {dtype}"


def _dtype(number: int) -> str:
    from onnx import TensorProto

    try:
        name = str(TensorProto.DataType.Name(number)).lower()
        return {"float": "float32", "double": "float64"}.get(name, name)
    except ValueError:
        return f"data type {number}"


def show_file(file: ModelFile, table: OriginTable, figures: Figures) -> tuple[Listing, Drawing | None]:
    """Return the text of a file and its drawing; None if it is too large to be drawn."""
    shown = _Shown(_origins(file, table), figures, [Line(f"# {file.title}")])
    shown.graph(file.graph, "", [], {})
    if len(shown.lines) > MAX_LINES:
        shown.lines[MAX_LINES:] = [Line(f"# … {len(shown.lines) - MAX_LINES} more lines")]
    listing = make_listing("graph", "file", "relay", shown.lines, {})
    if not 0 < len(shown.nodes) <= MAX_NODES:
        return listing, None
    drawing = Drawing(key="", name="file", nodes=shown.nodes, edges=shown.edges)
    return listing, msgspec.structs.replace(drawing, key=drawing_key(drawing))


def faulty_origins(file: ModelFile, table: OriginTable, message: str) -> list[int]:
    """Return the origins of the nodes that the message of an importer quotes."""
    origins = _origins(file, table)
    return [origins[node.row] for node in _all_nodes(file.graph) if repr(node.called) in message]


def _origins(file: ModelFile, table: OriginTable) -> dict[str, int]:
    """Return the origin of each node by its label; of one that the importer did not come to, a new one."""
    origins: dict[str, int] = {}
    for row in table.rows[file.rows :]:
        origins.setdefault(row.label, row.id)
        if row.name:  # one of PyTorch is labelled by its module, of which other nodes may be part, too
            origins.setdefault(f"{row.label.partition(' ')[0]} {row.name}", row.id)
    for node in _all_nodes(file.graph):
        if node.row not in origins:
            (origins[node.row],) = table.mint("graph", node.row, None, NO_SPAN)
    return origins


def _all_nodes(graph: FileGraph) -> Iterator[FileNode]:
    for node in graph.nodes:
        yield node
        for body in node.bodies.values():
            yield from _all_nodes(body)


@dataclass(slots=True)
class _Shown:
    """The lines, nodes and edges so far."""

    origins: Mapping[str, int]
    figures: Figures
    lines: list[Line]
    nodes: list[GraphNode] = field(default_factory=list)
    edges: list[GraphEdge] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)

    def graph(self, graph: FileGraph, indent: str, scope: list[str], outer: Mapping[str, int]) -> dict[str, int]:
        """Show a graph within ``scope``, and return the node of each value."""
        made = dict(outer)
        for value in graph.inputs:
            self._line(f"{indent}input %{value.name}: {value.type}")
            made[value.name] = self._add(_cut(value.name), "input", scope, type=value.type)
        held = {weight.name: weight.type for weight in graph.weights}
        for node in _sorted(graph.nodes, made):
            origins = [self.origins[node.row]]
            self._line(f"{indent}{_call(node, graph.types)}", origins)
            line = len(self.lines)
            inner = []
            for title, body in node.bodies.items():
                within = [*scope, f"{node.called or node.operator} {title}"[:MAX_ATTRIBUTE]]
                inside = self.graph(body, f"{indent}  ", within, made)
                inner += [(inside[name], body.types.get(name, "")) for name in body.outputs if name in inside]
            index = self._node(node, scope, origins, line, graph.types, held, bool(node.bodies))
            sources = [*((made[name], graph.types.get(name, "")) for name in node.inputs if name in made), *inner]
            self.edges += [GraphEdge(source, index, kind) for source, kind in dict(sources).items()]
            made.update({name: index for name in node.outputs if name})
        if graph.outputs:
            self._line(f"{indent}return {', '.join(f'%{name}' for name in graph.outputs)}")
        for weight in graph.weights:
            self._line(f"{indent}weight {weight.name}: {weight.type}")
        return made

    def _line(self, text: str, origins: Sequence[int] = ()) -> None:
        text = " ".join(text.splitlines())
        self.lines.append(Line(text if len(text) <= MAX_LETTERS else f"{text[:MAX_LETTERS]} …", list(origins)))

    def _node(
        self,
        node: FileNode,
        scope: list[str],
        origins: list[int],
        line: int,
        types: Mapping[str, str],
        held: Mapping[str, str],
        control: bool,
    ) -> int:
        return self._add(
            _cut(node.operator),
            "control" if control else "operator",
            scope,
            type=next((types[name] for name in node.outputs if name in types), ""),
            detail=", ".join(f"{name}={_cut(text)}" for name, text in node.attributes.items())[: 4 * MAX_ATTRIBUTE],
            attributes={_cut(name): _cut(text) for name, text in [*node.attributes.items()][:MAX_LISTED]},
            constants=[f"{_cut(name)} {held[name]}" for name in node.inputs if name in held][:MAX_LISTED],
            weights=self._weights((name, held[name]) for name in node.inputs if name in held),
            line=line,
            origins=origins,
            layers=[_cut(node.name)] if node.name else [],
        )

    def _weights(self, values: Iterable[tuple[str, str]]) -> list[Weight]:
        found = ((name, self.figures(name, kind)) for name, kind in islice(values, MAX_LISTED))
        return [msgspec.structs.replace(figures, name=_cut(name)) for name, figures in found if figures is not None]

    def _add(self, label: str, kind: NodeKind, scope: list[str], **facts: object) -> int:
        self.keys[label] = count = self.keys.get(label, 0) + 1
        node = GraphNode(key=f"{FILE_KEY}{label}:{count}", label=label, kind=kind, scope=scope[:MAX_SCOPES])
        self.nodes.append(msgspec.structs.replace(node, **facts))
        return len(self.nodes) - 1


def _cut(text: str) -> str:
    return text if len(text) <= MAX_ATTRIBUTE else f"{text[: MAX_ATTRIBUTE - 1]}…"


def _call(node: FileNode, types: Mapping[str, str]) -> str:
    """Return a node as a line: ``%y = Conv(%x, %w) {strides=[2, 2]} : (1, 64, 56, 56) float32``."""
    outputs = ", ".join(f"%{name}" for name in node.outputs if name)
    inputs = ", ".join(f"%{name}" if name else "_" for name in node.inputs)
    attributes = ", ".join(f"{name}={_cut(text)}" for name, text in node.attributes.items())
    kind = next((types[name] for name in node.outputs if name in types), "")
    text = f"{outputs or '_'} = {node.operator}({inputs})"
    return text + (f" {{{attributes}}}" if attributes else "") + (f" : {kind}" if kind else "")


def _sorted(nodes: Sequence[FileNode], known: Mapping[str, int]) -> Iterator[FileNode]:
    """Return nodes after those that make their inputs, where that is possible; damaged files have cycles."""
    pending = {name for node in nodes for name in node.outputs if name} - set(known)
    readers: dict[str, list[int]] = {name: [] for name in pending}
    lacking = [pending.intersection(node.inputs) for node in nodes]
    for at, names in enumerate(lacking):
        for name in names:
            readers[name].append(at)
    ready = [at for at, names in enumerate(lacking) if not names]
    while ready:
        node = nodes[heappop(ready)]
        yield node
        for name in node.outputs:
            for at in readers.pop(name, ()):
                lacking[at].discard(name)
                if not lacking[at]:
                    heappush(ready, at)
    yield from (node for node, names in zip(nodes, lacking, strict=True) if names)
