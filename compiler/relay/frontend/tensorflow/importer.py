"""The walk over a graph: each node becomes what its converter makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.origin import Span, derived_from
from compiler.relay.expr import Constant, Var
from compiler.relay.frontend.common.errors import ModelError, UnsupportedOperatorError, naming_node
from compiler.relay.frontend.common.folding import constant, keeping, settle
from compiler.relay.frontend.common.parameters import is_weight, module_of
from compiler.relay.frontend.span_filling import mint_layer
from compiler.relay.frontend.tensorflow import converters as _converters
from compiler.relay.frontend.tensorflow.node import Node
from compiler.relay.frontend.tensorflow.reader import ModelSource, attributes_of, read_graph
from compiler.relay.frontend.tensorflow.registry import find
from compiler.relay.inference import infer_expr
from compiler.relay.ty import TensorType
from compiler.runtime.ndarray import NDArray

__all__ = ["convert_graph"]

assert _converters is not None  # importing them fills the table

_INPUTS = frozenset({"Placeholder", "PlaceholderWithDefault"})
_WITHOUT_RESULT = frozenset({"NoOp", "Assert"})
_STRUCTURE = _INPUTS | _WITHOUT_RESULT | {"Const"}
"""Operators that the walk itself knows."""


def convert_graph(
    model: ModelSource, shapes: Mapping[str, Sequence[int]], outputs: Sequence[str] | None, span: Span
) -> tuple[IRModule, dict[str, NDArray]]:
    """Return the module of a graph, and its weights; see :func:`from_tensorflow`."""
    graph = read_graph(model)
    nodes = {node.name: node for node in graph.node}
    if len(nodes) < len(graph.node):
        raise ModelError("from_tensorflow: two nodes of the graph have the same name")
    wanted = list(outputs) if outputs is not None else _unused_results(graph)
    order = _order(nodes, wanted)
    _check_operators(nodes[name] for name in order)
    inputs = _inputs([nodes[name] for name in nodes if name in set(order)], shapes)
    values: dict[str, list[Any]] = {name: [variable] for name, variable in inputs.items()}
    weights: dict[Constant, str] = {}
    for name in order:
        if nodes[name].op == "Const":
            values[name] = [_constant(nodes[name])]
            if is_weight(values[name][0]):
                weights[values[name][0]] = name
    with keeping(frozenset(weights)):
        for name in order:
            if name not in values and nodes[name].op not in _WITHOUT_RESULT:
                values[name] = _convert(nodes[name], values, span)
    return module_of(list(inputs.values()), [_result(values, name, "outputs") for name in wanted], weights)


def _parts(name: str) -> tuple[str, int]:
    """Return the node that a name is of, and which of its results."""
    node, _, index = name.removeprefix("^").partition(":")
    return node, int(index) if index.isdigit() else 0


def _unused_results(graph: Any) -> list[str]:
    used = {_parts(name)[0] for node in graph.node for name in node.input}
    return [node.name for node in graph.node if node.name not in used and node.op not in _STRUCTURE]


def _order(nodes: Mapping[str, Any], outputs: Sequence[str]) -> list[str]:
    """Return the nodes that the outputs need, each after those that it uses."""
    needs: dict[str, list[str]] = {}
    left = [_parts(name)[0] for name in outputs]
    for name in left:
        if name not in nodes:
            raise ArgumentError(f"from_tensorflow: outputs names {name!r}, which is no node of the graph")
    if not left:
        raise ModelError("from_tensorflow: the graph computes nothing")
    while left:
        name = left.pop()
        if name in needs:
            continue
        needs[name] = [_parts(given)[0] for given in nodes[name].input if not given.startswith("^")]
        for given in needs[name]:
            if given not in nodes:
                raise ModelError(f"from_tensorflow: node {name!r} takes {given!r}, which no node gives")
        left += needs[name]
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as exc:
        circle = ", ".join(map(repr, exc.args[1][:5]))
        raise ModelError(f"from_tensorflow: nodes depend on each other in a circle: {circle}") from None


def _check_operators(nodes: Any) -> None:
    missing: dict[str, list[str]] = {}
    for node in nodes:
        if node.op not in _STRUCTURE and find(node.op) is None:
            missing.setdefault(node.op, []).append(repr(node.name))
    if missing:
        raise UnsupportedOperatorError("from_tensorflow", missing)


def _inputs(nodes: Sequence[Any], shapes: Mapping[str, Sequence[int]]) -> dict[str, Var]:
    given = [node for node in nodes if node.op in _INPUTS]
    names = [node.name for node in given]
    if strange := sorted(set(shapes) - set(names)):
        raise ArgumentError(
            f"from_tensorflow: shape names {', '.join(map(repr, strange))}, but the graph's inputs are "
            f"{', '.join(map(repr, names)) or 'none'}"
        )
    return {node.name: _variable(node, shapes.get(node.name)) for node in given}


def _variable(node: Any, given: Sequence[int] | None) -> Var:
    attributes = attributes_of(node)
    own = attributes.get("shape")
    if given is None and own is None:
        raise ArgumentError(f"from_tensorflow: the graph does not say the shape of input {node.name!r}: give `shape`")
    if given is not None and own and len(given) != len(own):
        raise ArgumentError(
            f"from_tensorflow: input {node.name!r} has {len(own)} dimensions, shape gives {show(given)}"
        )
    dims = tuple(given) if given is not None else tuple(1 if extent < 0 else extent for extent in own or ())
    try:
        variable = Var(node.name, TensorType(dims, attributes.get("dtype", "float32")))
    except TVMError as exc:
        raise ArgumentError(f"from_tensorflow: input {node.name!r}: {exc}") from exc
    infer_expr(variable)
    return variable


def _constant(node: Any) -> Any:
    with naming_node("from_tensorflow", f"node {node.name!r} (Const)"):
        attributes = attributes_of(node)
        if "value" not in attributes:
            raise ModelError("attribute 'value' must be given")
        return constant(attributes["value"], attributes.get("dtype"))


def _result(values: Mapping[str, list[Any]], name: str, who: str) -> Any:
    node, index = _parts(name)
    if node not in values or index >= len(values[node]):
        raise ModelError(f"from_tensorflow: {who} takes {name!r}, which is not computed")
    return values[node][index]


def _convert(proto: Any, values: Mapping[str, list[Any]], span: Span) -> list[Any]:
    made_of = mint_layer(f"{proto.op} {proto.name}", proto.name, span)
    convert = find(proto.op)
    assert convert is not None  # _check_operators has seen to it
    with derived_from(made_of), naming_node("from_tensorflow", f"node {proto.name!r} ({proto.op})"):
        inputs = [_result(values, name, "it") for name in proto.input if not name.startswith("^")]
        result = convert(Node(proto.name, proto.op, inputs, attributes_of(proto)))
        return [settle(item) for item in ([result] if isinstance(result, RelayExpr) else result)]
