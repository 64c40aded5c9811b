"""The walk over a model: each node becomes what its converter makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.classic.frontend.tflite import converters as _converters
from compiler.classic.frontend.tflite.converters.activations import has_activation
from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.quantized import is_quantized, quantized, real
from compiler.classic.frontend.tflite.reader import (
    ModelSource,
    Operation,
    Subgraph,
    TensorInfo,
    called,
    read_model,
    reading,
)
from compiler.classic.frontend.tflite.registry import Convert, find, find_quantized, moves_elements, passes_on
from compiler.classic.frontend.tflite.variables import Variables
from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.names import take_name
from compiler.ir.origin import Span, derived_from
from compiler.relay.expr import Constant, Tuple, Var
from compiler.relay.frontend.shared.errors import ConversionError, ModelError, UnsupportedOperatorError, naming_node
from compiler.relay.frontend.shared.folding import constant, keeping, settle
from compiler.relay.frontend.shared.parameters import is_weight, module_of
from compiler.relay.frontend.shared.telling import tell_imported, tell_read
from compiler.relay.frontend.shared.tensors import bounded
from compiler.relay.frontend.span_filling import mint_layer, name_parameter
from compiler.relay.function import Function
from compiler.relay.inference import infer_expr, infer_module
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import NDArray

assert _converters is not None  # registers the converters


def convert_model(
    model: ModelSource, shapes: Mapping[str, Sequence[int]], dtypes: Mapping[str, str], span: Span
) -> tuple[IRModule, dict[str, NDArray]]:
    """Convert a model to a module and its weights; see :func:`from_tflite`."""
    graphs = read_model(model)
    tell_read("TensorFlow Lite", graphs)
    _check_operators(graphs)
    graph = graphs[0]
    inputs = _inputs(graph, shapes, dtypes)
    names: dict[Constant, str] = {}
    taken = {variable.name_hint for variable in inputs.values()}
    program = _Program(graphs, span, taken)
    for i, value in program.constants(0).items():
        if i not in inputs and graph.tensors[i].data is not None and is_weight(value):
            names[value] = take_name(graph.tensors[i].name or f"tensor{i}", taken, ".")
    with keeping(frozenset(names)), reading():
        outputs = program.run(0, [inputs[i] for i in graph.inputs])
    mod, params = _with_states(program.variables, list(inputs.values()), outputs, names)
    tell_imported(mod, params)
    return mod, params


def _with_states(
    variables: Variables, inputs: list[Var], outputs: list[RelayExpr], names: Mapping[Constant, str]
) -> tuple[IRModule, dict[str, NDArray]]:
    """Build the module of a model whose variables persist."""
    states = variables.states
    after = [*outputs, *(variables.values[number] for number in states)]
    mod, params = module_of([*inputs, *states.values()], after, names)
    if states:
        first = Function((), Tuple(tuple(variables.initial_state(i) for i in states)))
        mod["initial_states"] = infer_module(IRModule({"main": first}))["main"]
    return mod, params


def _check_operators(graphs: Sequence[Subgraph]) -> None:
    """Raise an error for unsupported operators in the main graph or the graphs that it calls."""
    missing: dict[str, list[str]] = {}
    left, seen = [0], {0}
    while left:
        graph = graphs[left.pop()]
        for operation in graph.operations:
            if find(operation.operator) is None:
                missing.setdefault(operation.operator, []).append(repr(_label(graph, operation)))
                continue
            inside = {number for number in called(operation) if 0 <= number < len(graphs)} - seen
            seen |= inside
            left += inside
    if missing:
        raise UnsupportedOperatorError("from_tflite", missing)


def _label(graph: Subgraph, operation: Operation) -> str:
    """Return the name of a node, that of its first result."""
    return graph.tensors[operation.outputs[0]].name if operation.outputs else ""


def _inputs(graph: Subgraph, shapes: Mapping[str, Sequence[int]], dtypes: Mapping[str, str]) -> dict[int, Var]:
    names = {graph.tensors[i].name for i in graph.inputs}
    for what, given in (("shape_dict", shapes), ("dtype_dict", dtypes)):
        if strange := sorted(set(given) - names):
            raise ArgumentError(
                f"from_tflite: {what} names {', '.join(map(repr, strange))}, but the model's inputs are "
                f"{', '.join(map(repr, sorted(names)))}"
            )
    variables = {}
    for i in graph.inputs:
        tensor = graph.tensors[i]
        dtype = dtypes.get(tensor.name, tensor.dtype)
        if dtype != tensor.dtype:
            raise ArgumentError(f"from_tflite: input {tensor.name!r} is {tensor.dtype}, dtype_dict gives {dtype!r}")
        try:
            variables[i] = Var(tensor.name, TensorType(_shape(tensor, shapes.get(tensor.name)), dtype))
        except TVMError as exc:
            raise ArgumentError(f"from_tflite: input {tensor.name!r}: {exc}") from exc
        name_parameter(variables[i], tensor.name)
        infer_expr(variables[i])
    return variables


def _shape(tensor: TensorInfo, given: Sequence[int] | None) -> tuple[int, ...]:
    if given is None:
        return tensor.shape
    if not isinstance(given, (list, tuple)) or len(given) != len(tensor.shape):
        raise ArgumentError(
            f"from_tflite: input {tensor.name!r} has {len(tensor.shape)} dimensions, shape_dict gives {show(given)}"
        )
    return tuple(given)


def _value(graph: Subgraph, values: Mapping[int, Any], number: int) -> Any:
    if number not in values:
        raise ModelError(f"from_tflite: tensor {graph.tensors[number].name!r} is used before a node defines it")
    return values[number]


class _Program:
    """The subgraphs of a model."""

    def __init__(self, graphs: Sequence[Subgraph], span: Span, taken: set[str]) -> None:
        self._graphs = graphs
        self._span = span
        self._constants: dict[int, dict[int, Any]] = {}
        self._running: list[int] = []
        self.variables = Variables(graphs, taken)

    def constants(self, number: int) -> dict[int, Any]:
        """Return the constants of a graph by tensor number, shared by all iterations of a loop."""
        if number not in self._constants:
            self._constants[number] = {
                i: constant(tensor.data if tensor.data is not None else np.zeros(tensor.shape), tensor.dtype)
                for i, tensor in enumerate(self._graphs[number].tensors)
                if tensor.data is not None or (tensor.is_variable and bounded(*tensor.shape))
            }
        return self._constants[number]

    def run(self, number: int, arguments: Sequence[RelayExpr]) -> list[RelayExpr]:
        """Convert a graph and return its results."""
        if not 0 <= number < len(self._graphs):
            raise ModelError(f"graph {number} is referenced, but there are {len(self._graphs)}")
        if number in self._running:
            raise ModelError(f"graph {number} is recursive, which is not supported")
        graph = self._graphs[number]
        if len(graph.inputs) != len(arguments):
            raise ModelError(
                f"graph {number} has {len(graph.inputs)} inputs, but is called with {len(arguments)} arguments"
            )
        values = {-1: None, **self.constants(number), **dict(zip(graph.inputs, arguments, strict=True))}
        self._running.append(number)
        try:
            for operation in graph.operations:
                self._convert(graph, operation, values)
        finally:
            self._running.pop()
        return [_value(graph, values, i) for i in graph.outputs]

    def _convert(self, graph: Subgraph, operation: Operation, values: dict[int, Any]) -> None:
        label = _label(graph, operation)
        made_of = mint_layer(f"{operation.operator} {label}".strip(), label, self._span)
        convert = find(operation.operator)
        assert convert is not None  # checked by _check_operators
        with derived_from(made_of), naming_node("from_tflite", f"node {label!r} ({operation.operator})"):
            inputs = [_value(graph, values, i) for i in operation.inputs]
            tensors = [graph.tensors[i] if i >= 0 else None for i in operation.inputs]
            outputs = [graph.tensors[i] for i in operation.outputs]
            results = _results(Node(operation, inputs, outputs, tensors, self.run, self.variables), convert)
            if len(results) < len(operation.outputs):
                raise ModelError(f"it has {len(results)} results, but the model names {len(operation.outputs)}")
            for number, result in zip(operation.outputs, results, strict=False):
                values[number] = settle(result)


def _results(node: Node, convert: Convert) -> list[RelayExpr]:
    """Convert a node on quantized tensors if its converter supports them, otherwise on dequantized ones."""
    operation = node.operation
    if any(isinstance(x, Tuple) for x in node.inputs):
        return _of_complex(node, convert)
    if passes_on(operation.operator) or _stays_quantized(node):
        return _listed(convert(node))
    if (on_integers := find_quantized(operation.operator)) is not None and _is_quantized_node(node):
        return _listed(on_integers(node))
    given = [
        real(x, tensor) if tensor is not None and is_quantized(tensor) else x
        for x, tensor in zip(node.inputs, node.tensors, strict=True)
    ]
    results = _listed(convert(replace(node, inputs=given)))
    pairs = zip(results, node.outputs, strict=False)
    return [quantized(result, tensor) if is_quantized(tensor) else result for result, tensor in pairs]


def _of_complex(node: Node, convert: Convert) -> list[RelayExpr]:
    """Convert a node on complex numbers; one that moves them moves their real and their imaginary parts alike."""
    name, (first, *others) = node.operation.operator, node.inputs
    if name in ("REAL", "IMAG", "COMPLEX_ABS", "CAST"):
        return _listed(convert(node))
    if not moves_elements(name) or not isinstance(first, Tuple) or any(isinstance(x, Tuple) for x in others):
        raise ConversionError("of complex numbers only the shape, the parts and the magnitude can be computed")
    parts = [_listed(convert(replace(node, inputs=[part, *others]))) for part in first.fields]
    return [Tuple(pair) for pair in zip(*parts, strict=True)]


def _is_quantized_node(node: Node) -> bool:
    """Return whether the first input and the result are quantized to 8 bits."""
    ends = (node.tensors[0] if node.tensors else None, *node.outputs)
    return all(t is not None and is_quantized(t) and t.dtype in ("int8", "uint8") for t in ends)


def _stays_quantized(node: Node) -> bool:
    """Return whether a node only moves elements and keeps the scale."""
    if not moves_elements(node.operation.operator) or has_activation(node):
        return False
    every = [t.quantization for t in (*node.tensors, *node.outputs) if t is not None and is_quantized(t)]
    return all(q is not None and q.same_as(every[0]) for q in every)


def _listed(results: RelayExpr | Sequence[RelayExpr]) -> list[RelayExpr]:
    return [results] if isinstance(results, RelayExpr) else list(results)
