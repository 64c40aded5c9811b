"""Programs of PyTorch as the graph of a file: script modules, and exported programs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple

import numpy.typing as npt
import torch

from app.recorder.units.graph_drawing import MAX_SCOPES
from app.recorder.units.model_file import FileGraph, FileNode, FileValue, number_text, type_words
from compiler.ir.error import TVMError
from compiler.relay.frontend.pytorch.dtypes import dtype_name
from compiler.relay.frontend.pytorch.exported import layer_of, operator_name
from compiler.relay.frontend.pytorch.script import inlined, layer_name, node_names, schema_of
from compiler.relay.frontend.pytorch.weights import tensor_data

Values = Callable[[str], npt.NDArray[Any] | None]
_BODIES = {"prim::If": ("then", "else"), "prim::Loop": ("body",)}
_CONTROL = {"prim::If": ("condition",), "prim::Loop": ("trips", "condition")}
_BUILDERS = {"prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct"}
_PARTS = {"prim::ListUnpack", "prim::TupleUnpack", "prim::TupleIndex", "prim::data"}


def read_script(model: torch.jit.ScriptModule) -> tuple[str, FileGraph, Values]:
    """Return the title and the graph of a script module, and what returns the values of its weights."""
    graph = inlined(model)
    own, *given = graph.inputs()
    reading = _Script(node_names(graph))
    reading.objects[own.debugName()] = "", model
    for value in given:
        reading.values[value.debugName()] = _Value((value.debugName(),))
    made = reading.block(graph, 0)
    made.inputs.extend(FileValue(value.debugName(), _script_type(value) or "Tensor") for value in given)
    made.weights.extend(FileValue(path, _tensor_type(tensor)) for path, tensor in reading.weights.items())
    return f"script module {model.original_name}", made, _values_of(reading.weights)


class _Value(NamedTuple):
    """What a value is made of: tensors by name, or a number in words, if it is known."""

    tensors: tuple[str, ...]
    text: str = ""


class _Script:
    """The values of a graph of TorchScript so far."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self.values: dict[str, _Value] = {}
        self.objects: dict[str, tuple[str, Any]] = {}
        self.weights: dict[str, torch.Tensor] = {}

    def block(self, block: torch.Block, depth: int) -> FileGraph:
        """Return the nodes of a block that compute, without its inputs and weights."""
        made = FileGraph([], [], [], [], {})
        for node in block.nodes():
            kind = node.kind()
            if kind == "prim::GetAttr":
                self._attribute(node)
            elif kind == "prim::Constant":
                self._bind(node, _Value((), _constant_text(node)))
            elif kind in _BUILDERS:
                self._bind(node, self._together(node.inputs()))
            elif kind in _PARTS:
                self._bind(node, self._value(next(node.inputs())))
            else:
                made.nodes.append(self._node(node, depth, made.types))
        made.outputs.extend(name for value in block.outputs() for name in self._value(value).tensors)
        return made

    def _attribute(self, node: torch.Node) -> None:
        path, owner = self.objects.get(next(node.inputs()).debugName(), ("", None))
        name, found = node.output().debugName(), getattr(owner, node.s("name"), None)
        path = ".".join(filter(None, (path, node.s("name"))))
        if isinstance(found, torch.Tensor):
            self.weights[path] = found
        self.objects[name] = path, found
        self.values[name] = _Value((), str(found)) if isinstance(found, (bool, int, float, str)) else _Value((path,))

    def _node(self, node: torch.Node, depth: int, types: dict[str, str]) -> FileNode:
        outputs = tuple(output.debugName() for output in node.outputs())
        inputs = list(node.inputs())
        texts = {
            name: self._value(value).text
            for name, value in zip(_formals(schema_of(node), _CONTROL.get(node.kind(), ())), inputs, strict=False)
        }
        bodies = {}
        if depth < MAX_SCOPES:
            for title, block in zip(_BODIES.get(node.kind(), ()), node.blocks(), strict=False):
                # a loop counts its turns in the first input of its body, and has a condition before what it carries
                for inner, value in zip([*block.inputs()][1:], inputs[2:], strict=False):
                    self.values[inner.debugName()] = self._value(value)
                bodies[title] = self.block(block, depth + 1)
        for output in node.outputs():
            self.values[output.debugName()] = _Value((output.debugName(),))
            types[output.debugName()] = _script_type(output)
        attributes = {
            name: _dtype_text(text) if name == "dtype" else text
            for name, text in texts.items()
            if text not in ("", "None")
        }
        tensors = self._together(inputs).tensors
        return FileNode(node.kind(), layer_name(node, self._names), tensors, outputs, attributes, bodies)

    def _value(self, value: torch.Value) -> _Value:
        return self.values.get(value.debugName(), _Value(()))

    def _bind(self, node: torch.Node, value: _Value) -> None:
        self.values.update((output.debugName(), value) for output in node.outputs())

    def _together(self, values: Iterable[torch.Value]) -> _Value:
        parts = [self._value(value) for value in values]
        tensors = tuple(name for part in parts for name in part.tensors)
        return _Value(tensors, "" if tensors else f"[{', '.join(part.text for part in parts)}]")


def _formals(schema: torch.FunctionSchema | None, others: Iterable[str] = ()) -> Iterator[str]:
    """Return what an operator calls its arguments, and numbers those without a name."""
    yield from others if schema is None else (formal.name for formal in schema.arguments)
    yield from (f"argument {at}" for at in count(1))


def _constant_text(node: torch.Node) -> str:
    return _told(node.output().toIValue()) if node.hasAttribute("value") else "None"


def _told(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return _tensor_type(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_told, value))}]"
    return str(value).removeprefix("torch.")


def _dtype_text(code: str) -> str:
    try:
        return dtype_name(int(code)) if code.isdecimal() else code
    except TVMError:  # complex and quantized types
        return f"data type {code}"


def _script_type(value: torch.Value) -> str:
    kind = value.type()
    if kind.kind() != "TensorType":
        return str(kind)
    sizes, dtype = kind.sizes(), kind.dtype()
    return "" if sizes is None or dtype is None else type_words(["?" if e is None else e for e in sizes], _told(dtype))


def _tensor_type(tensor: torch.Tensor) -> str:
    return type_words(tuple(tensor.shape), _told(tensor.dtype))


def _values_of(tensors: Mapping[str, torch.Tensor]) -> Values:
    def values(name: str) -> npt.NDArray[Any] | None:
        try:
            return tensor_data(tensors[name]) if name in tensors else None
        except TVMError:  # complex or sparse, as the importer says if the model needs it
            return None

    return values


def read_program(program: torch.export.ExportedProgram) -> tuple[str, FileGraph, Values]:
    """Return the title and the graph of an exported program, and what returns the values of its weights."""
    held = {**program.state_dict, **program.constants}
    tensors = {name: tensor for name, tensor in held.items() if isinstance(tensor, torch.Tensor)}
    names: dict[torch.fx.Node, str] = {}
    made = FileGraph([], [], [], [], {})
    specs = iter(program.graph_signature.input_specs)
    for node in program.graph.nodes:
        names[node] = node.name
        if node.op == "placeholder":
            target = next(specs).target
            if target in tensors:
                names[node] = target
                made.weights.append(FileValue(target, _tensor_type(tensors[target])))
            else:
                made.inputs.append(FileValue(node.name, _exported_type(node)))
        elif node.op == "output":
            made.outputs.extend(names[source] for source in node.all_input_nodes)
        elif node.target is operator.getitem:
            names[node] = names[node.all_input_nodes[0]]
        elif node.op == "call_function":
            made.types[node.name] = _exported_type(node)
            made.nodes.append(_call(node, names))
    return "exported program", made, _values_of(tensors)


def _call(node: torch.fx.Node, names: Mapping[torch.fx.Node, str]) -> FileNode:
    given = {**dict(zip(_formals(getattr(node.target, "_schema", None)), node.args, strict=False)), **node.kwargs}
    attributes = {name: _told(value) for name, value in given.items() if value is not None and not _nodes_in(value)}
    inputs = tuple(names[source] for source in node.all_input_nodes)
    return FileNode(operator_name(node.target), layer_of(node), inputs, (node.name,), attributes, {})


def _nodes_in(value: Any) -> list[torch.fx.Node]:
    found: list[torch.fx.Node] = []
    torch.fx.node.map_arg(value, found.append)
    return found


def _exported_type(node: torch.fx.Node) -> str:
    value = node.meta.get("val")
    return type_words(list(value.shape), _told(value.dtype)) if isinstance(value, torch.Tensor) else ""
