"""The walk over a model: each layer becomes what its converter makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.origin import Span, derived_from
from compiler.relay.expr import Constant, Var
from compiler.relay.frontend.keras import converters as _converters
from compiler.relay.frontend.keras.layer import Layer
from compiler.relay.frontend.keras.reader import (
    Application,
    Model,
    ModelSource,
    Operation,
    Tensor,
    applications,
    is_model,
    is_tensor,
    kind_of,
    read_model,
    weights_of,
)
from compiler.relay.frontend.keras.registry import find
from compiler.relay.frontend.shared.errors import ModelError, UnsupportedOperatorError, naming_node
from compiler.relay.frontend.shared.folding import constant, dtype_of, keeping, settle
from compiler.relay.frontend.shared.parameters import module_of
from compiler.relay.frontend.shared.tensors import cast
from compiler.relay.frontend.span_filling import mint_layer
from compiler.relay.inference import infer_expr
from compiler.relay.ty import TensorType
from compiler.runtime.ndarray import NDArray

__all__ = ["convert_model"]

assert _converters is not None  # importing them fills the table


def convert_model(
    model: ModelSource, shapes: Mapping[str, Sequence[int]], layout: str, span: Span
) -> tuple[IRModule, dict[str, NDArray]]:
    """Return the module of a model, and its weights; see :func:`from_keras`."""
    built = read_model(model)
    _check_layers(built)
    walk = _Walk(layout == "NCHW", span)
    variables = _inputs(built, shapes, walk.channels_first)
    outputs = walk.convert_graph(built, variables)
    return module_of(variables, outputs, walk.names)


def _check_layers(model: Model) -> None:
    missing: dict[str, list[str]] = {}
    for operation in _operations(model):
        if find(kind_of(operation)) is None:
            missing.setdefault(kind_of(operation), []).append(repr(operation.name))
    if missing:
        raise UnsupportedOperatorError("from_keras", missing)


def _operations(model: Model) -> Iterator[Operation]:
    for application in applications(model):
        if is_model(application.operation):
            yield from _operations(application.operation)
        else:
            yield application.operation


def _inputs(model: Model, shapes: Mapping[str, Sequence[int]], channels_first: bool) -> list[Var]:
    names = [tensor.name for tensor in model.inputs]
    if strange := sorted(set(shapes) - set(names)):
        raise ArgumentError(
            f"from_keras: shape names {', '.join(map(repr, strange))}, but the model's inputs are "
            f"{', '.join(map(repr, names))}"
        )
    return [_variable(tensor, shapes.get(tensor.name), channels_first) for tensor in model.inputs]


def _variable(tensor: Tensor, given: Sequence[int] | None, channels_first: bool) -> Var:
    dims = tuple(1 if extent is None else int(extent) for extent in tensor.shape)
    if channels_first and len(dims) == 4:
        dims = (dims[0], dims[3], dims[1], dims[2])
    if given is not None and len(given) != len(dims):
        raise ArgumentError(f"from_keras: input {tensor.name!r} has {len(dims)} dimensions, shape gives {show(given)}")
    try:
        variable = Var(tensor.name, TensorType(dims if given is None else tuple(given), str(tensor.dtype)))
    except TVMError as exc:
        raise ArgumentError(f"from_keras: input {tensor.name!r}: {exc}") from exc
    infer_expr(variable)
    return variable


class _Walk:
    """Converts models, those within models too, and remembers the weights.

    Attributes
    ----------
    channels_first : bool
    names : dict of Constant to str
        Weights that become parameters.
    """

    def __init__(self, channels_first: bool, span: Span) -> None:
        self.channels_first = channels_first
        self.names: dict[Constant, str] = {}
        self._by_name: dict[str, tuple[np.ndarray[Any, Any], Constant]] = {}
        self._span = span

    def convert_graph(self, model: Model, inputs: Sequence[RelayExpr]) -> list[RelayExpr]:
        """Return the outputs of a model, computed of its inputs."""
        values: dict[int, RelayExpr] = {id(t): x for t, x in zip(model.inputs, inputs, strict=True)}
        for application in applications(model):
            arguments = [values[id(a)] if is_tensor(a) else a for a in application.arguments]
            results = self._call(application, arguments)
            values.update(zip(map(id, application.outputs), results, strict=False))
        return [values[id(tensor)] for tensor in model.outputs]

    def _call(self, application: Application, arguments: Sequence[object]) -> Sequence[RelayExpr]:
        operation = application.operation
        if hasattr(operation, "weights"):
            tensors = [a for a in arguments if isinstance(a, RelayExpr)]
        else:
            tensors = [a if isinstance(a, RelayExpr) else self._number(a, operation) for a in arguments]
        results = self.apply(operation, tensors)
        if len(results) < len(application.outputs):
            raise ModelError(f"from_keras: layer {operation.name!r} has {len(application.outputs)} results")
        return results

    def _number(self, value: object, operation: Operation) -> RelayExpr:
        if not isinstance(value, (int, float, np.ndarray)):
            raise ModelError(f"from_keras: {kind_of(operation)} {operation.name!r} takes {show(value)}")
        number: RelayExpr = constant(np.asarray(value, str(operation.output.dtype)))
        return number

    def apply(self, operation: Operation, inputs: Sequence[RelayExpr]) -> Sequence[RelayExpr]:
        """Return what a layer, or a model that is one, makes of its inputs."""
        if is_model(operation):
            return self.convert_graph(operation, inputs)
        kind, name = kind_of(operation), operation.name
        convert = find(kind)
        if convert is None:
            raise UnsupportedOperatorError("from_keras", {kind: [repr(name)]})
        with (
            derived_from(mint_layer(f"{kind} {name}", name, self._span)),
            naming_node("from_keras", f"layer {name!r} ({kind})"),
        ):
            layer = self._layer(operation, inputs)
            with keeping(frozenset(self.names)):
                result = convert(layer)
                return [settle(r) for r in ([result] if isinstance(result, RelayExpr) else result)]

    def _layer(self, operation: Operation, inputs: Sequence[RelayExpr]) -> Layer:
        is_layer = hasattr(operation, "weights")
        dtype = str(operation.compute_dtype) if is_layer else dtype_of(inputs[0])
        return Layer(
            name=operation.name,
            kind=kind_of(operation),
            config=operation.get_config() if is_layer else {},
            inputs=[cast(x, dtype) if dtype_of(x).startswith(("float", "bfloat")) else x for x in inputs],
            weights=weights_of(operation) if is_layer else {},
            dtype=dtype,
            channels_first=self.channels_first,
            source=operation,
            add_parameter=self._add_parameter,
            apply=self.apply,
        )

    def _add_parameter(self, name: str, values: np.ndarray[Any, Any]) -> Constant:
        """Return a weight as a constant; that of a layer which is called twice is one and the same."""
        number, unused = 1, name
        while unused in self._by_name:
            entered, constant_of = self._by_name[unused]
            if entered.dtype == values.dtype and np.array_equal(entered, values):
                return constant_of
            number, unused = number + 1, f"{name}.{number}"
        weight: Constant = constant(values)
        self.names[weight] = unused
        self._by_name[unused] = values, weight
        return weight
