"""The importer, which walks a model and converts each layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from compiler.classic.frontend.keras import converters as _converters
from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.reader import (
    Application,
    Model,
    ModelSource,
    Operation,
    Tensor,
    applications,
    is_layer,
    is_model,
    is_tensor,
    kind_of,
    read_model,
    settings_of,
    weights_of,
)
from compiler.classic.frontend.keras.registry import find, takes_masks
from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.origin import Span, derived_from
from compiler.relay.expr import Constant, Var
from compiler.relay.frontend.shared.errors import ConversionError, ModelError, UnsupportedOperatorError, naming_node
from compiler.relay.frontend.shared.folding import Array, constant, dtype_of, keeping, settle
from compiler.relay.frontend.shared.parameters import module_of
from compiler.relay.frontend.shared.telling import tell_imported, tell_read
from compiler.relay.frontend.shared.tensors import cast
from compiler.relay.frontend.span_filling import mint_layer, name_parameter
from compiler.relay.inference import infer_expr
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import NDArray

assert _converters is not None  # registers the converters


def convert_model(
    model: ModelSource, shapes: Mapping[str, Sequence[int]], layout: str, span: Span
) -> tuple[IRModule, dict[str, NDArray]]:
    """Convert a model to a module and its weights; see :func:`from_keras`."""
    built = read_model(model)
    tell_read("Keras", built)
    _check_layers(built)
    walk = _Walk(layout == "NCHW", span)
    variables = _inputs(built, shapes, walk.channels_first)
    outputs = walk.convert_graph(built, variables)
    mod, params = module_of(variables, outputs, walk.names)
    tell_imported(mod, params)
    return mod, params


def _check_layers(model: Model) -> None:
    missing: dict[str, list[str]] = {}
    for operation in _operations(model):
        if find(operation) is None:
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
    name_parameter(variable, tensor.name)
    infer_expr(variable)
    return variable


def _with_values(argument: object, values: Mapping[int, RelayExpr]) -> object:
    """Replace symbolic tensors within an argument by expressions."""
    if isinstance(argument, (list, tuple)):
        return type(argument)([_with_values(item, values) for item in argument])
    if isinstance(argument, Mapping):
        return {name: _with_values(item, values) for name, item in argument.items()}
    return values[id(argument)] if is_tensor(argument) else argument


def _tensors(arguments: object) -> list[RelayExpr]:
    """Return the expressions among arguments."""
    if isinstance(arguments, Mapping):
        arguments = list(arguments.values())
    if isinstance(arguments, (list, tuple)):
        return [tensor for item in arguments for tensor in _tensors(item)]
    return [arguments] if isinstance(arguments, RelayExpr) else []


def _computed_in(dtype: str, argument: object) -> object:
    """Cast the floating-point tensors of an argument to the compute data type of the layer."""
    if isinstance(argument, (list, tuple)):
        return [_computed_in(dtype, item) for item in argument]
    if isinstance(argument, RelayExpr) and dtype_of(argument).startswith(("float", "bfloat")):
        return cast(argument, dtype)
    return argument


class _Walk:
    """Converts models, including nested ones, and collects their weights."""

    def __init__(self, channels_first: bool, span: Span) -> None:
        self.channels_first = channels_first
        self.names: dict[Constant, str] = {}
        self._by_name: dict[str, tuple[Array, Constant]] = {}
        self._span = span

    def convert_graph(self, model: Model, inputs: Sequence[RelayExpr]) -> list[RelayExpr]:
        """Convert a model, given its inputs, and return its outputs."""
        values: dict[int, RelayExpr] = {id(t): x for t, x in zip(model.inputs, inputs, strict=True)}
        for application in applications(model):
            results = self._call(application, values)
            values.update(zip(map(id, application.outputs), results, strict=False))
        return [values[id(tensor)] for tensor in model.outputs]

    def _call(self, application: Application, values: Mapping[int, RelayExpr]) -> Sequence[RelayExpr]:
        operation = application.operation
        positional = [_with_values(argument, values) for argument in application.positional]
        keywords = {name: _with_values(argument, values) for name, argument in application.keywords.items()}
        results = self.apply(operation, positional, keywords)
        if len(results) < len(application.outputs):
            raise ModelError(f"from_keras: layer {operation.name!r} has {len(application.outputs)} results")
        return results

    def apply(
        self, operation: Operation, positional: Sequence[object], keywords: Mapping[str, object] | None = None
    ) -> Sequence[RelayExpr]:
        """Convert a call of a layer, function or nested model."""
        if is_model(operation):
            if any(_tensors([value]) for name, value in (keywords or {}).items() if name.endswith("mask")):
                raise ConversionError(
                    f"from_keras: model {operation.name!r} is called with a mask, which is not supported"
                )
            return self.convert_graph(operation, _tensors(positional))
        kind, name = kind_of(operation), operation.name
        convert = find(operation)
        if convert is None:
            raise UnsupportedOperatorError("from_keras", {kind: [repr(name)]})
        with (
            derived_from(mint_layer(f"{kind} {name}", name, self._span)),
            naming_node("from_keras", f"{'layer' if is_layer(operation) else 'function'} {name!r} ({kind})"),
        ):
            layer = self._layer(operation, positional, keywords or {})
            with keeping(frozenset(self.names)):
                result = convert(layer)
                return [settle(r) for r in ([result] if isinstance(result, RelayExpr) else result)]

    def _layer(self, operation: Operation, positional: Sequence[object], keywords: Mapping[str, object]) -> Layer:
        a_layer = is_layer(operation)
        if a_layer:
            dtype = str(operation.compute_dtype)
            names = getattr(operation, "call_signature_parameters", ())
            keywords = {**dict(zip(names[1:], positional[1:], strict=False)), **keywords}
            positional = [_computed_in(dtype, argument) for argument in positional[: 1 if names else None]]
            keywords = {name: _computed_in(dtype, argument) for name, argument in keywords.items()}
            masks = [name for name, value in keywords.items() if name.endswith("mask") and _tensors([value])]
            if masks and not takes_masks(kind_of(operation)):
                raise ConversionError(f"it is called with {masks[0]!r}, and masks of such a layer are not supported")
        inputs = _tensors([*positional, *(v for name, v in keywords.items() if not name.endswith("mask"))])
        return Layer(
            name=operation.name,
            kind=kind_of(operation),
            config=settings_of(operation),
            inputs=inputs,
            positional=positional,
            keywords=keywords,
            weights=weights_of(operation) if a_layer else {},
            dtype=dtype if a_layer else dtype_of(inputs[0]),
            channels_first=self.channels_first,
            source=operation,
            add_parameter=self._add_parameter,
            apply=self.apply,
            view=lambda held: self._layer(held, (), {}),
        )

    def _add_parameter(self, name: str, values: Array) -> Constant:
        """Return a weight as a constant, the same one for each call of a layer."""
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
