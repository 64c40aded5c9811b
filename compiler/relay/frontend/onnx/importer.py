"""The importer, which walks a model's graph and converts each node.

References
----------
"ONNX Operator Changelog", https://github.com/onnx/onnx/blob/main/docs/Changelog.md, versions 1 to 6.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import onnx

from compiler.ir.error import TVMError
from compiler.ir.expr import RelayExpr
from compiler.ir.origin import Span, current_span, derived_from
from compiler.relay.frontend.onnx import checks
from compiler.relay.frontend.onnx.bodies import Body, body_of, fixed_body, has_body
from compiler.relay.frontend.onnx.errors import UnsupportedOperatorError
from compiler.relay.frontend.onnx.node import Attributes, Node, attribute_value, operands
from compiler.relay.frontend.onnx.reader import MAX_DEPTH, names_read, opset_imports, subgraphs, tensor_array
from compiler.relay.frontend.onnx.registry import find
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import constant, ops, rank_of, settle
from compiler.relay.frontend.span_filling import mint_layer, name_parameter


def in_order(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Sort nodes topologically, keeping their order in the file where possible."""
    maker = _makers(nodes)
    needs = [{maker[name] for name in _used(node) if name in maker} for node in nodes]
    users: list[list[int]] = [[] for _ in nodes]
    for user, made_by in enumerate(needs):
        for i in made_by:
            users[i].append(user)
    waiting = [len(made_by) for made_by in needs]
    ready = [i for i, count in enumerate(waiting) if count == 0]
    ordered = []
    while ready:
        i = heapq.heappop(ready)
        ordered.append(nodes[i])
        for user in users[i]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, user)
    if len(ordered) < len(nodes):
        names = [nodes[i].name or next(iter(nodes[i].output), "") for i, count in enumerate(waiting) if count]
        raise ModelError(f"from_onnx: the graph has a cycle: {', '.join(map(repr, names[:5]))}")
    return ordered


def _makers(nodes: Sequence[onnx.NodeProto]) -> dict[str, int]:
    maker: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in maker:
                raise ModelError(f"from_onnx: two nodes define {name!r}")
            maker[name] = i
    return maker


def _used(node: onnx.NodeProto) -> Iterator[str]:
    """Return the names of the inputs of a node, including those captured by its subgraphs."""
    yield from filter(None, node.input)
    for graph in subgraphs(node):
        own = {item.name for item in (*graph.input, *graph.initializer)}
        own.update(name for inner in graph.node for name in inner.output)
        used = {name for inner in graph.node for name in _used(inner)}
        used.update(item.name for item in graph.output)
        yield from used - own


NUMPY_BROADCAST_OPSET = 7
"""The first operator set with NumPy-style broadcasting."""


def aligned_inputs(operator: str, inputs: Sequence[RelayExpr], attributes: Attributes) -> Sequence[RelayExpr]:
    """Align the inputs of a node of an older operator set for NumPy-style broadcasting.

    ``broadcast=1, axis=k`` aligned the second operand with axis ``k`` of the first; the slopes of ``PRelu`` were per
    channel.
    """
    if operator == "PRelu":
        return [inputs[0], _from_axis(inputs[1], 1, rank_of(inputs[0]))]
    if "broadcast" not in attributes:
        return inputs
    broadcast, axis = attributes.pop("broadcast"), attributes.pop("axis", None)
    if not broadcast or axis is None or len(inputs) != 2:
        return inputs
    rank = rank_of(inputs[0])
    return [inputs[0], _from_axis(inputs[1], axis % rank, rank)]


def _from_axis(operand: RelayExpr, axis: int, rank: int) -> RelayExpr:
    """Return an operand whose first dimension stands beside the axis of a tensor of ``rank`` dimensions."""
    missing = rank - axis - rank_of(operand)
    if rank_of(operand) == 0 or missing <= 0:
        return operand
    return ops.expand_dims(operand, axis=rank_of(operand), num_newaxis=missing)


Scope: TypeAlias = dict[str, RelayExpr | None]
"""Expressions by value names; the scope of a subgraph starts as a copy of the enclosing one."""

_MISFITS = (ValueError, IndexError, KeyError, TypeError, OverflowError, ZeroDivisionError, MemoryError)
"""The exceptions that NumPy and Python raise for inconsistent attributes or inputs."""


class Importer:
    """Converts the graphs of a model."""

    def __init__(self, functions: Sequence[onnx.FunctionProto], opsets: Mapping[str, int], span: Span) -> None:
        self._functions = {(f.domain, f.name, f.overload): f for f in functions}
        self._opsets = dict(opsets)
        self._span = span
        self._bindings: Attributes = {}
        self._path: tuple[str, ...] | None = ()
        self._depth = 0

    def graph(self, graph: onnx.GraphProto, scope: Scope) -> list[RelayExpr]:
        """Convert a graph whose inputs are in ``scope``, and return its outputs."""
        for tensor in graph.initializer:
            if tensor.name not in scope:
                scope[tensor.name] = constant(tensor_array(tensor))
        if graph.sparse_initializer:
            raise ModelError(f"graph {graph.name!r} has sparse initializers, which are not supported")
        self._nodes(graph, scope)
        return list(operands([_lookup(scope, output.name, "the graph's outputs") for output in graph.output]))

    def _nodes(self, graph: onnx.GraphProto, scope: Scope) -> None:
        for node in in_order(graph.node):
            outputs = self._node(node, scope)
            for name, value in zip(node.output, outputs, strict=False):
                if name:
                    scope[name] = value

    def _node(self, proto: onnx.NodeProto, scope: Scope) -> list[RelayExpr | None]:
        label = _label(proto)
        layer = self._layer_name(label)
        span = mint_layer(f"{proto.op_type} {label}".strip(), layer, self._span)
        for name in proto.input if layer else ():  # by the first layer that reads it
            name_parameter(scope.get(name), f"{layer}.{name}")
        with derived_from(span), _naming(label, proto.op_type):
            inputs = [_lookup(scope, name, "it") if name else None for name in proto.input]
            outputs = self._convert(proto, inputs, scope)
        for i, name in enumerate(proto.output):
            if name and (i >= len(outputs) or outputs[i] is None):
                raise ConversionError(
                    f"from_onnx: node {label!r} ({proto.op_type}): output {i} ({name!r}) is not supported"
                )
        return outputs

    def _convert(self, proto: onnx.NodeProto, inputs: list[RelayExpr | None], scope: Scope) -> list[RelayExpr | None]:
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        local = self._functions.get((proto.domain, proto.op_type, proto.overload))
        if local is not None:
            return self._call(Body(local, {}), proto, inputs)
        opset = self._opsets.get(domain, 1)
        checks.check_node(proto, domain, opset)
        convert = find(domain, proto.op_type, opset)
        if convert is None:
            return self._call(body_of(proto, domain, opset, inputs, self._attributes(proto)), proto, inputs)

        def run(
            graph: onnx.GraphProto, values: Sequence[RelayExpr], named: Callable[[RelayExpr], RelayExpr] | None = None
        ) -> list[RelayExpr]:
            if named is None:
                return self._subgraph(graph, values, scope)
            read = {name: value for name in names_read(graph) if (value := scope.get(name)) is not None}
            return self._subgraph(graph, values, {**scope, **{name: named(value) for name, value in read.items()}})

        attributes, given = self._attributes(proto), operands(inputs)
        if not domain and opset < NUMPY_BROADCAST_OPSET:
            given = aligned_inputs(proto.op_type, given, attributes)
        result = convert(Node(proto.op_type, given, attributes, list(proto.output), opset, run))
        results = [result] if isinstance(result, RelayExpr) else result
        return [None if item is None else settle(item) for item in results]

    def _attributes(self, proto: onnx.NodeProto) -> Attributes:
        values = {attr.name: attribute_value(attr, self._bindings) for attr in proto.attribute}
        return {name: value for name, value in values.items() if value is not None}

    def _subgraph(self, graph: onnx.GraphProto, values: Sequence[RelayExpr], scope: Scope) -> list[RelayExpr]:
        if len(graph.input) > len(values):
            raise ModelError(
                f"its graph {graph.name!r} takes {len(graph.input)} inputs, but is called with {len(values)}"
            )
        inner = dict(scope)
        inner.update({item.name: value for item, value in zip(graph.input, values, strict=False)})
        return self.graph(graph, inner)

    def _call(self, body: Body, proto: onnx.NodeProto, inputs: list[RelayExpr | None]) -> list[RelayExpr | None]:
        """Convert the body of a function in its own scope, with its own operator sets and attributes."""
        function = body.function
        given = self._attributes(proto)
        defaults = {attr.name: attribute_value(attr, {}) for attr in function.attribute_proto}
        if len(inputs) > len(function.input):
            raise ModelError(
                f"function {function.name!r} takes {len(function.input)} inputs, but is called with {len(inputs)}"
            )
        scope: Scope = dict.fromkeys(function.input)
        scope.update(zip(function.input, inputs, strict=False))
        with (
            self._within(opset_imports(function) or self._opsets, {**body.defaults, **defaults, **given}),
            self._as(proto, own=(proto.domain, proto.op_type, proto.overload) in self._functions),
        ):
            self._nodes(function, scope)
        wanted = [bool(name) for name in proto.output]
        pairs = zip(function.output, wanted, strict=False)
        return [_lookup(scope, name, f"function {function.name!r}") if used else None for name, used in pairs]

    def _layer_name(self, label: str) -> str:
        """Return the name of a node, unique in the model; empty within a function of the standard."""
        if self._path is None:
            return ""
        return "/".join((*self._path, label)) if label else ""

    @contextmanager
    def _as(self, proto: onnx.NodeProto, own: bool) -> Iterator[None]:
        """Attribute the nodes of a function to the node that calls it.

        The names of its nodes mean something to its author if it is the model's own.
        """
        around = self._path, self._span
        self._path = (*self._path, _label(proto)) if own and self._path is not None else None
        self._span = current_span()
        try:
            yield
        finally:
            self._path, self._span = around

    @contextmanager
    def _within(self, opsets: dict[str, int], bindings: Attributes) -> Iterator[None]:
        if self._depth >= MAX_DEPTH:
            raise ModelError(f"functions call each other more than {MAX_DEPTH} levels deep, or recursively")
        around = self._opsets, self._bindings
        self._opsets, self._bindings = {**self._opsets, **opsets}, bindings
        self._depth += 1
        try:
            yield
        finally:
            self._opsets, self._bindings = around
            self._depth -= 1

    def check_operators(self, graph: onnx.GraphProto) -> None:
        """Raise an error that lists all unsupported operators with their nodes."""
        missing: dict[str, list[str]] = {}
        seen: set[tuple[str, str, str]] = set()
        graphs: list[tuple[onnx.GraphProto | onnx.FunctionProto, dict[str, int]]] = [(graph, self._opsets)]
        while graphs:
            current, opsets = graphs.pop()
            for node in current.node:
                graphs += [(inner, opsets) for inner in subgraphs(node)]
                body = self._functions.get((node.domain, node.op_type, node.overload))
                body = self._note_missing(node, opsets, missing) if body is None else body
                if body is not None and (body.domain, body.name, body.overload) not in seen:
                    seen.add((body.domain, body.name, body.overload))
                    graphs.append((body, opset_imports(body) or opsets))
        if missing:
            raise UnsupportedOperatorError(missing)

    def _note_missing(
        self, node: onnx.NodeProto, opsets: dict[str, int], missing: dict[str, list[str]]
    ) -> onnx.FunctionProto | None:
        """Record a node without a converter; return the function body of its operator, if there is one."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        opset = opsets.get(domain, 1)
        if find(domain, node.op_type, opset) is not None:
            return None
        if has_body(domain, node.op_type, opset):
            return fixed_body(domain, node.op_type, opset)
        name = f"{domain}::{node.op_type}" if domain else node.op_type
        missing.setdefault(name, []).append(node.name or next(iter(node.output), ""))
        return None


def _label(proto: onnx.NodeProto) -> str:
    """Return the name of a node, or else that of its first output."""
    return proto.name or next(iter(filter(None, proto.output)), "")


def _lookup(scope: Scope, name: str, who: str) -> RelayExpr | None:
    if name not in scope:
        raise ModelError(f"from_onnx: {who} takes {name!r}, which no node, input or initializer defines")
    return scope[name]


@contextmanager
def _naming(label: str, operator: str) -> Iterator[None]:
    """Add the innermost node to the message of every error."""
    where = f"from_onnx: node {label!r} ({operator})"
    try:
        yield
    except UnsupportedOperatorError:
        raise
    except (ModelError, ConversionError) as exc:
        if str(exc).startswith("from_onnx: node"):
            raise
        raise type(exc)(f"{where}: {str(exc).removeprefix('from_onnx: ')}") from exc
    except TVMError as exc:
        raise ConversionError(f"{where}: {exc}") from exc
    except _MISFITS as exc:
        raise ConversionError(f"{where}: its inputs and attributes are inconsistent ({exc})") from exc
