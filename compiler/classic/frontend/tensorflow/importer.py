"""The importer, which walks a graph and converts each node."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import reduce
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeAlias

import numpy as np
from google.protobuf.message import Message

from compiler.classic.frontend.tensorflow import converters as _converters
from compiler.classic.frontend.tensorflow.branches import selected
from compiler.classic.frontend.tensorflow.frames import CONTROL_NODES, Flow, Frame
from compiler.classic.frontend.tensorflow.loops import looped
from compiler.classic.frontend.tensorflow.node import Node
from compiler.classic.frontend.tensorflow.reader import ModelSource, attributes_of, read_graph
from compiler.classic.frontend.tensorflow.registry import find
from compiler.classic.frontend.tensorflow.tables import TABLES, contents_of
from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.origin import Span, derived_from
from compiler.relay.expr import Constant, Tuple, Var
from compiler.relay.frontend.shared.errors import ConversionError, ModelError, UnsupportedOperatorError, naming_node
from compiler.relay.frontend.shared.folding import constant, keeping, ops, settle
from compiler.relay.frontend.shared.parameters import is_weight, module_of
from compiler.relay.frontend.shared.telling import tell_imported, tell_read
from compiler.relay.frontend.span_filling import mint_layer, name_parameter
from compiler.relay.inference import infer_expr
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import NDArray

assert _converters is not None  # registers the converters

Values: TypeAlias = dict[str, list[Any]]
"""The results of nodes by name."""

_INPUTS = frozenset({"Placeholder", "PlaceholderWithDefault"})
_WITHOUT_RESULT = frozenset({"NoOp", "Assert"})
_STRUCTURE = _INPUTS | _WITHOUT_RESULT | CONTROL_NODES | TABLES | {"Const"}
"""Structural operators, which the importer handles itself."""


def convert_graph(
    model: ModelSource, shapes: Mapping[str, Sequence[int]], outputs: Sequence[str] | None, span: Span
) -> tuple[IRModule, dict[str, NDArray]]:
    """Convert a graph to a module and its weights; see :func:`from_tensorflow`."""
    graph, own = read_graph(model)
    tell_read("TensorFlow", graph)
    outputs = outputs if outputs is not None else own or None
    nodes = {node.name: node for node in graph.node}
    if len(nodes) < len(graph.node):
        raise ModelError("from_tensorflow: two nodes of the graph have the same name")
    given = list(outputs) if outputs is not None else _last_node(graph)
    library = _Library(graph, span)
    walk = _Walk(nodes, library)
    order = walk.order(given)
    if not order:
        raise ModelError("from_tensorflow: the graph computes nothing")
    _check_operators(nodes[name] for name in order)
    inputs = _inputs([nodes[name] for name in nodes if name in set(order)], shapes)
    values: Values = {name: [variable] for name, variable in inputs.items()}
    weights: dict[Constant, str] = {}
    for name in order:
        if nodes[name].op == "Const":
            values[name] = [_constant(nodes[name])]
            if is_weight(values[name][0]):
                weights[values[name][0]] = name
    with keeping(frozenset(weights)):
        walk.convert(order, values)
    results = values[given[0]] if outputs is None else [_result(values, name, "outputs") for name in given]
    mod, params = module_of(list(inputs.values()), results, weights)
    tell_imported(mod, params)
    return mod, params


def _parts(name: str) -> tuple[str, int]:
    """Split the name of a value into its node and output: ``node``, ``node:1`` or ``node:values:0``."""
    node, *place = name.removeprefix("^").split(":")
    if len(place) == 2:
        return node, _SECOND_RESULTS.get(place[0], int(place[1]) if place[1].isdigit() else 0)
    return node, int(place[0]) if place and place[0].isdigit() else 0


_SECOND_RESULTS = {"indices": 1, "batch_mean": 1, "batch_variance": 2}
"""Named outputs within functions, with their output indices."""


def _last_node(graph: Message) -> list[str]:
    """Return the name of the last node that computes something."""
    computing = [node.name for node in graph.node if node.op not in _STRUCTURE]
    if not computing:
        raise ModelError("from_tensorflow: the graph computes nothing")
    return computing[-1:]


def _check_operators(nodes: Iterable[Message]) -> None:
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


def _variable(node: Message, given: Sequence[int] | None) -> Var:
    attributes = attributes_of(node)
    own = attributes.get("shape")
    if given is None and own is None:
        raise ArgumentError(
            f"from_tensorflow: the graph does not specify the shape of input {node.name!r}: give `shape`"
        )
    if given is not None and own and len(given) != len(own):
        raise ArgumentError(
            f"from_tensorflow: input {node.name!r} has {len(own)} dimensions, shape gives {show(given)}"
        )
    dims = tuple(given) if given is not None else tuple(1 if extent < 0 else extent for extent in own or ())
    try:
        variable = Var(node.name, TensorType(dims, attributes.get("dtype", "float32")))
    except TVMError as exc:
        raise ArgumentError(f"from_tensorflow: input {node.name!r}: {exc}") from exc
    name_parameter(variable, node.name)
    infer_expr(variable)
    return variable


def _constant(node: Message) -> Any:
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


class _Library:
    """The function library of a graph."""

    def __init__(self, graph: Message, span: Span) -> None:
        self._functions = {function.signature.name: function for function in graph.library.function}
        self.span = span
        self._running: list[str] = []
        self._tables = contents_of(graph) if any(node.op in TABLES for node in graph.node) else {}

    def table(self, name: str) -> RelayExpr:
        """Return the keys and values of a hash table."""
        if name not in self._tables:
            raise ConversionError("no node of the graph fills this table with constants")
        return Tuple(tuple(constant(values) for values in self._tables[name]))

    def run(self, name: str, arguments: Sequence[RelayExpr]) -> list[RelayExpr]:
        """Convert a function and return its results."""
        if name not in self._functions:
            raise ModelError(f"function {name!r} is not in the graph's library")
        if name in self._running:
            raise ModelError(f"function {name!r} is recursive, which is not supported")
        function = self._functions[name]
        names = [argument.name for argument in function.signature.input_arg]
        if len(names) != len(arguments):
            raise ModelError(
                f"function {name!r} has {len(names)} parameters, but is called with {len(arguments)} arguments"
            )
        values: Values = {n: [x] for n, x in zip(names, arguments, strict=True)}
        nodes = {node.name: node for node in function.node_def}
        returned = {entry.key: entry.value for entry in function.ret}
        results = [returned.get(result.name, "") for result in function.signature.output_arg]
        self._running.append(name)
        try:
            walk = _Walk(nodes, self)
            walk.convert(walk.order(results, values), values)
        finally:
            self._running.pop()
        return [_result(values, source, f"function {name!r}") for source in results]


class _Walk:
    """Converts the nodes of a graph or function in topological order."""

    def __init__(self, nodes: Mapping[str, Message], library: _Library) -> None:
        self._nodes = nodes
        self._library = library
        self._flow = Flow(nodes)

    def order(self, outputs: Sequence[str], given: Container[str] = ()) -> list[str]:
        """Sort the nodes that the outputs depend on topologically, except given ones."""
        needs: dict[str, list[str]] = {}
        left = [name for name in (_parts(name)[0] for name in outputs) if name not in given]
        for name in left:
            if name not in self._nodes:
                raise ArgumentError(f"from_tensorflow: outputs names {name!r}, which is not a node of the graph")
        while left:
            name = left.pop()
            if name in needs:
                continue
            taken = [_parts(source)[0] for source in self._flow.needs(name)]
            needs[name] = [source for source in taken if source not in given]
            for source in needs[name]:
                if source not in self._nodes:
                    raise ModelError(f"from_tensorflow: node {name!r} takes {source!r}, which no node defines")
            left += needs[name]
        try:
            return list(TopologicalSorter(needs).static_order())
        except CycleError as exc:
            circle = ", ".join(map(repr, exc.args[1][:5]))
            raise ModelError(f"from_tensorflow: the graph has a cycle: {circle}") from None

    def convert(self, order: Sequence[str], values: Values) -> None:
        """Convert nodes in topological order, adding their results to the values."""
        for name in order:
            node = self._nodes[name]
            if name in values or node.op in _WITHOUT_RESULT:
                continue
            values[name] = [_constant(node)] if node.op == "Const" else self._results(node, values)

    def _results(self, node: Message, values: Values) -> list[RelayExpr]:
        made_of = mint_layer(f"{node.op} {node.name}", node.name, self._library.span)
        with derived_from(made_of), naming_node("from_tensorflow", f"node {node.name!r} ({node.op})"):
            if node.op in CONTROL_NODES:
                result: Any = self._control(node, values)
            elif node.op in TABLES:
                result = self._library.table(node.name)
            else:
                convert = find(node.op)
                if convert is None:
                    raise UnsupportedOperatorError("from_tensorflow", {node.op: [repr(node.name)]})
                inputs = [_result(values, name, "it") for name in node.input if not name.startswith("^")]
                result = convert(Node(node.name, node.op, inputs, attributes_of(node), self._library.run))
            return [settle(item) for item in ([result] if isinstance(result, RelayExpr) else result)]

    def _control(self, node: Message, values: Values) -> list[RelayExpr]:
        """Convert a node of a loop or branch; a ``Switch`` forwards its input to both branches."""
        if node.op == "Exit":
            frame = self._flow.frame(node.name)
            after = self._loop(frame, values, self._alive(self._flow.guards(node.name), values))
            values.update({name: [after[place]] for name, place in frame.exits.items()})
            return [after[frame.exits[node.name]]]
        inputs = [_result(values, name, "it") for name in node.input if not name.startswith("^")]
        if node.op == "Merge":
            choice = self._flow.choice(node.name)
            number = ops.cast(_result(values, choice.condition, "it"), "int32")
            branches = [inputs[choice.branches.index(i)] for i in range(len(choice.branches))]
            place = ops.take(constant(np.argsort(choice.branches).astype("int32")), number, axis=0)
            return [*selected(number, [[branch] for branch in branches]), place]
        return [inputs[0]] * max(2, int(attributes_of(node).get("num_outs") or 2))

    def _alive(self, guards: Sequence[tuple[str, bool]], values: Values) -> RelayExpr | None:
        """Return the conjunction of branch conditions; None if there are none."""
        conditions = [(_result(values, name, "it"), wanted) for name, wanted in guards]
        alive = [condition if wanted else ops.logical_not(condition) for condition, wanted in conditions]
        return reduce(ops.logical_and, alive) if alive else None

    def _loop(self, frame: Frame, values: Values, alive: RelayExpr | None) -> Sequence[RelayExpr]:
        def at_the_end(names: Sequence[str], state: Sequence[RelayExpr]) -> list[RelayExpr]:
            turn = {**values, **{name: [value] for name, value in zip(frame.merges, state, strict=True)}}
            self.convert(self.order(names, turn), turn)
            return [_result(turn, name, "it") for name in names]

        return looped(
            [_result(values, name, "it") for name in frame.initial],
            lambda state: at_the_end([frame.condition], state)[0],
            lambda state: at_the_end(frame.handed_on, state),
            alive,
        )
