"""Models as Keras holds them: tensors with the operation that each comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np

from compiler.ir.error import ArgumentError, UnavailableError, show
from compiler.relay.frontend.shared.errors import ModelError

__all__ = [
    "Application",
    "Model",
    "ModelSource",
    "Operation",
    "Tensor",
    "applications",
    "is_model",
    "is_tensor",
    "kind_of",
    "read_model",
    "weights_of",
]


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
    """What is read of a ``keras.Operation``: a layer, a model, or a function such as an addition."""

    name: str
    compute_dtype: str
    weights: Sequence[_Weight]
    output: Tensor
    _inbound_nodes: Sequence[_Node]

    def get_config(self) -> dict[str, Any]: ...
    def get_weights(self) -> list[np.ndarray[Any, Any]]: ...


class Model(Operation, Protocol):
    """What is read of a ``keras.Model``."""

    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]


class _History(Protocol):
    operation: Operation
    node_index: int


class Tensor(Protocol):
    """What is read of a ``keras.KerasTensor``."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str
    _keras_history: _History


ModelSource: TypeAlias = "Model | str | os.PathLike[str]"


@dataclass(frozen=True, slots=True)
class Application:
    """One call of an operation.

    Attributes
    ----------
    operation : keras.Operation
        A layer, a model, or a function such as an addition.
    arguments : sequence of object
        Symbolic tensors, and constants.
    outputs : sequence of keras.KerasTensor
    """

    operation: Operation
    arguments: Sequence[object]
    outputs: Sequence[Tensor]


def read_model(model: ModelSource) -> Model:
    """Return a model that is built.

    Parameters
    ----------
    model : keras.Model, str or path

    Raises
    ------
    ModelError
        If a file cannot be read, or the model has no graph of layers.
    ArgumentError
        If it is neither a model nor the name of a file.
    """
    if isinstance(model, (str, os.PathLike)):
        model = _loaded(model)
    if not hasattr(model, "layers") or not hasattr(model, "get_config"):
        raise ArgumentError(f"from_keras: model must be a keras.Model or the path of a .keras file, got {show(model)}")
    if not is_model(model):
        raise ModelError(
            f"from_keras: model {model.name!r} has no graph of layers: expected a functional or sequential model of "
            "Keras 3 that is built; a subclassed one is first called on keras.Input and wrapped in keras.Model"
        )
    return model


def _loaded(path: str | os.PathLike[str]) -> Model:
    try:
        from compiler.relay.frontend.keras.files import load
    except ModuleNotFoundError as exc:
        raise UnavailableError(
            f"relay.frontend.from_keras: the package {exc.name}, with which such files are read, is not installed; "
            "pip install -e '.[keras]' installs it"
        ) from exc
    return load(path)


def is_model(operation: Operation) -> TypeGuard[Model]:
    """Return whether an operation is a graph of others."""
    outputs = getattr(operation, "outputs", None)
    return isinstance(outputs, (list, tuple)) and bool(outputs) and all(map(is_tensor, outputs))


def is_tensor(value: object) -> TypeGuard[Tensor]:
    """Return whether a value stands for a tensor of the running model."""
    return hasattr(getattr(value, "_keras_history", None), "operation")


def kind_of(operation: Operation) -> str:
    """Return the name of an operation's class: ``Conv2D``."""
    return type(operation).__name__


def weights_of(layer: Operation) -> dict[str, np.ndarray[Any, Any]]:
    """Return the weights of a layer by their names: ``kernel``, ``bias``."""
    names = [weight.name for weight in layer.weights]
    return dict(zip(names, map(np.asarray, layer.get_weights()), strict=True))


def applications(model: Model) -> list[Application]:
    """Return the calls that a model is made of, each after those whose results it takes; inputs are none."""
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
            pending += [(needed, False) for needed in _application(tensor).arguments if is_tensor(needed)]
    return order


def _application(tensor: Tensor) -> Application:
    history = tensor._keras_history
    node = history.operation._inbound_nodes[history.node_index]
    arguments = [leaf for leaf in _leaves([node.arguments.args, node.arguments.kwargs]) if leaf is not None]
    return Application(history.operation, arguments, list(node.output_tensors))


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    else:
        yield value
