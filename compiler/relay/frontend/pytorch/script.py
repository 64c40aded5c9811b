"""The importer of TorchScript, which converts node by node."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from compiler.ir.expr import RelayExpr
from compiler.ir.origin import Span, derived_from
from compiler.relay.frontend.pytorch import control_flow
from compiler.relay.frontend.pytorch.inputs import Described, as_value
from compiler.relay.frontend.pytorch.numbers import are_plain, compute, takes_plain
from compiler.relay.frontend.pytorch.quantization import on_real_numbers
from compiler.relay.frontend.pytorch.registry import Argument, Convert, apply, find
from compiler.relay.frontend.pytorch.tensors import reshape, settled_value, static_shape
from compiler.relay.frontend.pytorch.values import TorchValue, as_expr, as_items, as_key, item_of
from compiler.relay.frontend.pytorch.weights import Weights, is_count, tensor_constant
from compiler.relay.frontend.shared.errors import ConversionError, ModelError, UnsupportedOperatorError, naming_node
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, known, ops, rank_of
from compiler.relay.frontend.shared.tensors import expand
from compiler.relay.frontend.span_filling import mint_layer


@dataclass(frozen=True, slots=True)
class _View:
    """A view of a tensor."""

    base: RelayExpr
    convert: Convert
    arguments: tuple[Argument, ...]
    part: int | None

    def of(self, base: RelayExpr) -> RelayExpr:
        """Apply the view to another tensor."""
        result = apply(self.convert, (Argument("self", base), *self.arguments))
        return as_expr(result if self.part is None else as_items(result)[self.part])


class Views:
    """Tracks aliases among the values of a graph."""

    def __init__(self, values: dict[str, TorchValue]) -> None:
        self._values = values
        self._views: dict[RelayExpr, _View] = {}
        self.branch_depth = 0

    def record(self, schema: torch.FunctionSchema, first: RelayExpr, result: TorchValue, convert: Convert,
               arguments: Sequence[Argument]) -> TorchValue:  # fmt: skip
        """Record aliasing between the result of a call and its first argument, and return the result."""
        alias = schema.arguments[0].alias_info
        if alias is None:
            return result
        if alias.is_write:
            return self._written(first, as_expr(result))
        for part, item in enumerate(result if isinstance(result, (list, tuple)) else [result]):
            if isinstance(item, RelayExpr) and item is not first and item not in self._views:
                place = part if isinstance(result, (list, tuple)) else None
                self._views[item] = _View(first, convert, tuple(arguments[1:]), place)
        return result

    def _written(self, old: RelayExpr, new: RelayExpr) -> RelayExpr:
        """Replace the elements of a tensor, and propagate the update to its base."""
        if self.branch_depth:
            raise ConversionError(
                "an in-place operator inside a branch or loop whose condition is known only at run time"
            )
        if dtype_of(new) != dtype_of(old):
            new = ops.cast(new, dtype_of(old))
        if dims_of(new) != dims_of(old):
            new = expand(new, list(static_shape(old)))
        root, chain = old, []
        while root in self._views:
            chain.append(self._views[root])
            root = self._views[root].base
        if not chain:
            replaced: dict[RelayExpr, RelayExpr] = {old: new}
        else:
            places = _numbered(root)
            for view in reversed(chain):
                places = view.of(places)
            array = known(places)
            if array is None:
                raise ConversionError("an in-place operator on a part whose bounds are known only at run time")
            flat = reshape(root, [-1]) if rank_of(root) != 1 else root
            updates = reshape(new, [-1]) if rank_of(new) != 1 else new
            written = ops.scatter_elements(flat, constant(array.reshape(-1), "int64"), updates, axis=0)
            replaced = {root: reshape(written, list(static_shape(root))), old: new}
        self._rename(replaced)
        return replaced[old]

    def _rename(self, replaced: dict[RelayExpr, RelayExpr]) -> None:
        """Update all names that refer to a written tensor or to its views."""
        for name, value in list(self._values.items()):
            self._values[name] = self._replacement(value, replaced)

    def _replacement(self, value: TorchValue, replaced: dict[RelayExpr, RelayExpr]) -> TorchValue:
        if isinstance(value, list):
            value[:] = [self._replacement(v, replaced) for v in value]
            return value
        if isinstance(value, tuple):
            return tuple(self._replacement(v, replaced) for v in value)
        if not isinstance(value, RelayExpr):
            return value
        if value not in replaced and value in self._views:
            view = self._views[value]
            base = as_expr(self._replacement(view.base, replaced))
            if base is not view.base:
                replaced[value] = view.of(base)
                self._views[replaced[value]] = _View(base, view.convert, view.arguments, view.part)
        elif value in replaced and value in self._views and replaced[value] not in self._views:
            view = self._views[value]
            base = as_expr(self._replacement(view.base, replaced))
            self._views[replaced[value]] = _View(base, view.convert, view.arguments, view.part)
        return replaced.get(value, value)


def _numbered(x: RelayExpr) -> RelayExpr:
    """Return a tensor of flat indices with the shape of another one."""
    shape = static_shape(x)
    return constant(np.arange(math.prod(shape)).reshape(shape), "int64")


_STRUCTURE = frozenset(
    {
        "prim::Constant", "prim::GetAttr", "prim::If", "prim::Loop", "prim::ListConstruct", "prim::TupleConstruct",
        "prim::ListUnpack", "prim::TupleUnpack", "prim::TupleIndex", "prim::DictConstruct", "prim::RaiseException",
        "prim::Uninitialized", "prim::Print", "aten::warn", "aten::format", "prim::data", "prim::CreateObject",
    }
)  # fmt: skip
"""Structural nodes, which the importer handles itself."""

_USER_LINE = re.compile(r'(?:File "(?P<file>[^"]+)", line (?P<line>\d+))|(?:^(?P<path>\S+)\((?P<number>\d+)\):)', re.M)


def _is_quantization_parameter(value: torch.Value) -> bool:
    """Return whether an attribute is a scale or zero point, which is a constant instead of a weight."""
    uses = value.uses()
    return bool(uses) and all(use.user.kind() == "aten::quantize_per_tensor" and use.offset in (1, 2) for use in uses)


class Importer:
    """Converts the graph of a script module."""

    def __init__(
        self, module: torch.jit.ScriptModule, weights: Weights, custom: Mapping[str, Convert], span: Span
    ) -> None:
        self._module = module
        self._weights = weights
        self._custom = custom
        self._span = span
        self._paths: dict[str, str] = {}
        self._graph: torch.Graph | None = None
        self._names: Mapping[str, str] = {}
        self.values: dict[str, TorchValue] = {}
        self.views = Views(self.values)

    def _check_operators(self, nodes: Iterable[torch.Node]) -> None:
        """Raise an error that lists all unsupported operators with their places."""
        missing: dict[str, list[str]] = {}
        for node in nodes:
            kind = node.kind()
            known = kind in _STRUCTURE or kind in self._custom or find(kind) is not None
            if not known and not takes_plain(schema_of(node)):
                missing.setdefault(kind, []).append(called(layer_name(node, self._names), _place(node)))
        if missing:
            raise UnsupportedOperatorError("from_pytorch", missing)

    def graph(self, graph: torch.Graph, inputs: Sequence[Described]) -> TorchValue:
        """Convert a graph, whose first input is the module, and return its result."""
        self._graph = graph
        self._names = node_names(graph)
        self._check_operators(_all_nodes(graph, branches=False))
        own, *given = graph.inputs()
        self.values[own.debugName()] = self._module
        self._paths[own.debugName()] = ""
        for value, expr in zip(given, inputs, strict=True):
            self.values[value.debugName()] = as_value(expr)
        outputs = self.block(graph)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def block(self, block: torch.Block) -> list[TorchValue]:
        """Convert the nodes of a block, whose inputs are bound, and return its outputs."""
        for node in block.nodes():
            self._node(node)
        return [self.values[value.debugName()] for value in block.outputs()]

    def bind(self, values: Sequence[torch.Value], results: Sequence[TorchValue]) -> None:
        """Bind values of the graph."""
        for value, result in zip(values, results, strict=True):
            self.values[value.debugName()] = result

    def _node(self, node: torch.Node) -> None:
        kind = node.kind()
        if kind == "prim::GetAttr":
            self._attribute(node)
            return
        name = layer_name(node, self._names)
        span = mint_layer(f"{kind} {_scope(node)}".strip(), name, self._span)
        with derived_from(span), naming_node("from_pytorch", f"node {called(name, _place(node))}"):
            self._convert(node, kind)

    def _convert(self, node: torch.Node, kind: str) -> None:
        outputs = list(node.outputs())
        inputs = [self.values.get(value.debugName()) for value in node.inputs()]
        if kind == "prim::If":
            results: Sequence[TorchValue] = control_flow.branch(self, node, inputs[0])
        elif kind == "prim::Loop":
            results = control_flow.loop(self, node, inputs)
        elif kind in _STRUCTURE:
            results = _structure(node, kind, inputs)
        else:
            results = self._operator(node, kind, inputs)
        self.bind(outputs, results)

    def _operator(self, node: torch.Node, kind: str, inputs: list[TorchValue]) -> Sequence[TorchValue]:
        outputs = list(node.outputs())
        schema = schema_of(node)
        if kind in self._custom:
            result = settled_value(self._custom[kind](inputs, [type_name(v) for v in inputs]))
        elif takes_plain(schema) and are_plain(inputs):
            result = compute(schema, inputs)
        else:
            convert = self._converter(kind, schema)
            arguments = [
                Argument(a.name, v, a.has_default_value() and a.default_value == v if _is_plain(v) else False)
                for a, v in zip(schema.arguments, inputs, strict=True)
            ] if schema is not None else [Argument(f"x{i}", v) for i, v in enumerate(inputs)]  # fmt: skip
            if kind == "aten::as_strided":
                arguments.append(Argument("memory", next(node.inputs()).type().strides()))
            result = on_real_numbers(kind, arguments, convert)
            first = inputs[0] if inputs else None
            if schema is not None and isinstance(first, RelayExpr):
                result = self.views.record(schema, first, result, convert, arguments)
        if len(outputs) < 2:
            return [result][: len(outputs)]
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def _converter(self, kind: str, schema: torch.FunctionSchema | None) -> Convert:
        convert = find(kind)
        if convert is not None:
            return convert
        if takes_plain(schema):
            raise ConversionError("it is not supported on numbers known only at run time")
        self._check_operators(_all_nodes(self._graph))
        raise UnsupportedOperatorError("from_pytorch", {kind: []})

    def _attribute(self, node: torch.Node) -> None:
        """Bind an attribute of a module; tensors become weights."""
        (owner,) = node.inputs()
        (output,) = node.outputs()
        attribute = node.s("name")
        path = ".".join(filter(None, (self._paths.get(owner.debugName(), ""), attribute)))
        value = getattr(self.values[owner.debugName()], attribute)
        self._paths[output.debugName()] = path
        if isinstance(value, torch.Tensor) and (is_count(value) or _is_quantization_parameter(output)):
            value = tensor_constant(value)
        elif isinstance(value, torch.Tensor):
            value = self._weights.variable(path, self._weight_name(output, path), value)
        elif isinstance(value, (list, tuple)) and value and all(isinstance(v, torch.Tensor) for v in value):
            value = [self._weights.variable(f"{path}.{i}", f"{path}.{i}", v) for i, v in enumerate(value)]
        elif isinstance(value, torch.ScriptObject):
            value = self._weights.packed(path, self._weight_name(output, path), value)
        self.values[output.debugName()] = value

    def _weight_name(self, output: torch.Value, path: str) -> str:
        """Return the name of a weight: that of its first user, followed by its own."""
        users = [use.user for use in output.uses()]
        consumer = _name(users[0], self._names) if users else ""
        return f"{consumer}.{path.rpartition('.')[2]}" if consumer else path


def inlined(model: torch.jit.ScriptModule) -> torch.Graph:
    """Return the graph of a model, with those of the modules that it calls."""
    if not hasattr(model, "forward"):
        raise ModelError(f"from_pytorch: {model.original_name} has several overloads of forward: wrap it in a module")
    graph = model.forward.graph.copy()
    torch._C._jit_pass_inline(graph)
    return graph


def node_names(graph: torch.Graph) -> dict[str, str]:
    """Number the nodes of each kind; return the names by those of their results."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for node in _all_nodes(graph):
        if node.kind() != "prim::GetAttr":
            index = counts[node.kind()] = counts.get(node.kind(), -1) + 1
            names.update((output.debugName(), f"{node.kind()}_{index}") for output in node.outputs())
    return names


def _name(node: torch.Node, names: Mapping[str, str]) -> str:
    return next((names.get(value.debugName(), "") for value in node.outputs()), node.kind())


def _scope(node: torch.Node) -> str:
    return ".".join(re.findall(r"__module\.(\S+?)(?:/|$)", node.scopeName())[-1:])


def layer_name(node: torch.Node, names: Mapping[str, str]) -> str:
    """Return the name of a node with its path in the model: ``layer1.0/aten::relu_3``."""
    return "/".join(filter(None, (_scope(node), _name(node, names))))


def called(name: str, place: str) -> str:
    """Return what errors call a node: its name, and the line that made it, if that is known."""
    return f"{name!r} at {place}" if place else repr(name)


def _all_nodes(block: torch.Block, branches: bool = True) -> Iterator[torch.Node]:
    """Yield the nodes of a block and its nested blocks, optionally without those of branches."""
    for node in block.nodes():
        yield node
        if branches or node.kind() != "prim::If":
            for inner in node.blocks():
                yield from _all_nodes(inner, branches)


def schema_of(node: torch.Node) -> torch.FunctionSchema | None:
    """Return the schema of a node's operator; None if it has none."""
    text = node.schema()
    return None if text.startswith("(") else torch._C.parse_schema(text)


def _is_plain(value: TorchValue) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def type_name(value: TorchValue) -> str:
    """Return the data type of a tensor, or the kind of another value, for custom converters."""
    if isinstance(value, RelayExpr):
        return dtype_of(value)
    return "ListType" if isinstance(value, (list, tuple)) else type(value).__name__


def _place(node: torch.Node) -> str:
    """Return the line of the user's program that created a node, or else that of PyTorch's code.

    Empty if the file has no readable source locations.
    """
    try:
        text = node.sourceRange()
    except (RuntimeError, UnicodeDecodeError):
        return ""
    places = [f"{m['file'] or m['path']}:{m['line'] or m['number']}" for m in _USER_LINE.finditer(text)]
    own = [place for place in places if "site-packages/torch" not in place]
    return next(iter(own or places), "")


def _structure(node: torch.Node, kind: str, inputs: list[TorchValue]) -> Sequence[TorchValue]:
    """Return the outputs of a node that constructs or unpacks lists, tuples or dicts."""
    if kind == "prim::Constant":
        return [_constant(node)]
    if kind == "prim::ListConstruct":
        return [list(inputs)]
    if kind == "prim::TupleConstruct":
        return [tuple(inputs)]
    if kind in ("prim::ListUnpack", "prim::TupleUnpack"):
        return as_items(inputs[0])
    if kind == "prim::TupleIndex":
        return [item_of(inputs[0], inputs[1])]
    if kind == "prim::DictConstruct":
        return [dict(zip(map(as_key, inputs[::2]), inputs[1::2], strict=True))]
    if kind == "prim::RaiseException":
        raise ConversionError(f"the model raises an error here: {inputs[0] if inputs else ''}")
    if kind == "prim::data":
        return inputs[:1]
    return [None for _ in node.outputs()]


def _constant(node: torch.Node) -> TorchValue:
    output = node.output()
    if not node.hasAttribute("value"):
        return None
    value = output.toIValue()
    if isinstance(value, torch.Tensor):
        return tensor_constant(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        return [tensor_constant(v) for v in value]
    plain: TorchValue = value
    return plain
