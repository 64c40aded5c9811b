"""Reading of Keras models: symbolic tensors and the operations that produce them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np

from compiler.ir.error import ArgumentError, UnavailableError, show
from compiler.relay.frontend.shared.errors import ModelError
from compiler.relay.frontend.shared.folding import Array


class _Weight(Protocol):
    name: str


class _Arguments(Protocol):
    args: tuple[object, ...]
    kwargs: Mapping[str, object]


class _Node(Protocol):
    """A call of an operation."""

    arguments: _Arguments
    output_tensors: Sequence[Tensor]


class Operation(Protocol):
    """The interface of ``keras.Operation``: a layer, a model, or a function such as an addition."""

    name: str
    compute_dtype: str
    weights: Sequence[_Weight]
    output: Tensor
    _inbound_nodes: Sequence[_Node]

    def get_config(self) -> dict[str, Any]: ...
    def get_weights(self) -> list[Array]: ...


class Model(Operation, Protocol):
    """The interface of ``keras.Model``."""

    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]


class _History(Protocol):
    operation: Operation
    node_index: int


class Tensor(Protocol):
    """The interface of ``keras.KerasTensor``."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str
    _keras_history: _History


ModelSource: TypeAlias = "Model | str | os.PathLike[str]"


@dataclass(frozen=True, slots=True)
class Application:
    """A call of an operation."""

    operation: Operation
    """A layer, a model, or a function such as an addition."""
    positional: Sequence[object]
    """The arguments: symbolic tensors, constants, and lists of them."""
    keywords: Mapping[str, object]
    outputs: Sequence[Tensor]

    @property
    def tensors(self) -> list[Tensor]:
        """The symbolic tensors among the arguments."""
        return [leaf for leaf in _leaves([self.positional, self.keywords]) if is_tensor(leaf)]


def read_model(model: ModelSource) -> Model:
    """Return a built model, loading it if necessary."""
    if isinstance(model, (str, os.PathLike)):
        model = _loaded(model)
    if not hasattr(model, "layers") or not hasattr(model, "get_config"):
        raise ArgumentError(f"from_keras: model must be a keras.Model or the path of a .keras file, got {show(model)}")
    if not is_model(model):
        raise ModelError(
            f"from_keras: model {model.name!r} has no graph of layers: expected a built functional or sequential"
            f" Keras 3 model; to import a subclassed model, call it on keras.Input and wrap it in keras.Model"
        )
    return model


def _loaded(path: str | os.PathLike[str]) -> Model:
    try:
        from compiler.classic.frontend.keras.files import load
    except ModuleNotFoundError as exc:
        raise UnavailableError(
            f"relay.frontend.from_keras: the package {exc.name}, which reads such files, is not installed here "
            "(pip install 'strata-explorer[keras]'); a model that was exported to ONNX can be read without it"
        ) from exc
    return load(path)


def is_model(operation: Operation) -> TypeGuard[Model]:
    """Return whether an operation is a model."""
    outputs = getattr(operation, "outputs", None)
    return isinstance(outputs, (list, tuple)) and bool(outputs) and all(map(is_tensor, outputs))


def is_layer(operation: Operation) -> bool:
    """Return whether an operation is a layer, as opposed to a function of ``keras.ops``."""
    return hasattr(operation, "weights")


def is_tensor(value: object) -> TypeGuard[Tensor]:
    """Return whether a value is a symbolic tensor."""
    return hasattr(getattr(value, "_keras_history", None), "operation")


def kind_of(operation: Operation) -> str:
    """Return the name of an operation's class: ``Conv2D``."""
    return type(operation).__name__


def weights_of(layer: Operation) -> dict[str, Array]:
    """Return the weights of a layer by their names: ``kernel``, ``bias``."""
    names = [weight.name for weight in layer.weights]
    return dict(zip(names, map(np.asarray, layer.get_weights()), strict=True))


def applications(model: Model) -> list[Application]:
    """Return the calls of a model in topological order, without inputs."""
    order: list[Application] = []
    given = {id(tensor) for tensor in model.inputs}
    seen: set[tuple[int, int]] = set()
    pending: list[tuple[Tensor, bool]] = [(tensor, False) for tensor in reversed(model.outputs)]
    while pending:
        tensor, complete = pending.pop()
        history = tensor._keras_history
        key = id(history.operation), history.node_index
        if complete:
            order.append(_application(tensor))
        elif key not in seen and id(tensor) not in given:
            seen.add(key)
            pending.append((tensor, True))
            pending += [(needed, False) for needed in _application(tensor).tensors]
    return order


def _application(tensor: Tensor) -> Application:
    history = tensor._keras_history
    node = history.operation._inbound_nodes[history.node_index]
    args, kwargs = node.arguments.args, node.arguments.kwargs
    masks = _carried_masks(history.operation, args, kwargs)
    return Application(history.operation, args, {**kwargs, **masks}, list(node.output_tensors))


def _carried_masks(operation: Operation, args: Sequence[object], kwargs: Mapping[str, object]) -> Mapping[str, object]:
    """Return the masks that are implicitly passed to a layer, by parameter name."""
    names = getattr(operation, "call_signature_parameters", ())
    given = {
        name: value
        for name, value in {**dict(zip(names, args, strict=False)), **kwargs}.items()
        if not name.endswith("mask") and any(map(is_tensor, _leaves(value)))
    }
    masks = {}
    for name, value in given.items():
        parameter = "mask" if len(given) == 1 else f"{name}_mask"
        if parameter in names and kwargs.get(parameter) is None:
            carried = _carried(value)
            if any(map(is_tensor, _leaves(carried))):
                masks[parameter] = carried
    return masks


def _carried(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [_carried(item) for item in value]
    return getattr(value, "_keras_mask", None)


def settings_of(operation: Operation) -> dict[str, Any]:
    """Return the configuration of a layer or function."""
    if is_layer(operation):
        return operation.get_config()
    return {name: value for name, value in vars(operation).items() if not name.startswith("_")}


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    else:
        yield value
