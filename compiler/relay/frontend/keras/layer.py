"""A layer as its converter sees it: inputs that are expressions, weights that are arrays, and the layout of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.keras.reader import Operation
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import rank_of
from compiler.relay.frontend.shared.tensors import static_dims, transpose

__all__ = ["Layer"]

_LAST, _FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
"""How axes are permuted so that channels come last, and first."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One call of a layer, or of a function of ``keras.ops``.

    Attributes
    ----------
    name, kind : str
        Its own name, and that of its class.
    config : mapping of str to object
        What it was made with.
    inputs : sequence of Expr
        All tensors among the arguments but for masks.
    positional : sequence of object
        The arguments, with expressions for tensors.
    keywords : mapping of str to object
    weights : mapping of str to np.ndarray
    dtype : str
        In which it computes.
    channels_first : bool
        Whether tensors of four dimensions have their channels behind the batch.
    source : keras.Operation
        The layer itself, for those that hold others.
    add_parameter : callable
        Enters a weight by its name; returns the constant that becomes a parameter.
    apply : callable
        Converts a layer that is held, from the layer, its inputs and arguments by name.
    view : callable
        Returns a layer that is held as its converter sees it.
    """

    name: str
    kind: str
    config: Mapping[str, Any]
    inputs: Sequence[RelayExpr]
    positional: Sequence[Any]
    keywords: Mapping[str, Any]
    weights: Mapping[str, np.ndarray[Any, Any]]
    dtype: str
    channels_first: bool
    source: Operation
    add_parameter: Callable[[str, np.ndarray[Any, Any]], RelayExpr]
    apply: Callable[..., Sequence[RelayExpr]]
    view: Callable[[Operation], Layer]

    @property
    def x(self) -> RelayExpr:
        """The first input."""
        if not self.inputs:
            raise ModelError("it has no input")
        return self.inputs[0]

    def held(self, name: str) -> Operation:
        """Return a layer that this one holds.

        Parameters
        ----------
        name : str
            Of the attribute.
        """
        layer: Operation = getattr(self.source, name)
        return layer

    def option(self, name: str, default: object = None) -> Any:
        """Return what the layer was made with, or the default where that is None."""
        value = self.config.get(name)
        return default if value is None else value

    def argument(self, index: int, name: str, default: object = None) -> Any:
        """Return an argument of the call by its place or name, or the default where it is left out or None."""
        value = self.positional[index] if index < len(self.positional) else self.keywords.get(name)
        return default if value is None else value

    def numbers(self, name: str, count: int) -> tuple[int, ...]:
        """Return an option that is a number for each spatial axis, or one for all."""
        value = self.option(name, 1)
        return (int(value),) * count if isinstance(value, (int, np.integer)) else tuple(int(v) for v in value)

    def weight(self, name: str) -> np.ndarray[Any, Any]:
        """Return the values of a weight.

        Raises
        ------
        ModelError
            If the layer has none of this name.
        """
        if name not in self.weights:
            raise ModelError(f"it has no weight {name!r}, only {', '.join(map(repr, self.weights)) or 'none'}")
        return self.weights[name]

    def parameter(self, name: str, values: np.ndarray[Any, Any] | None = None) -> RelayExpr:
        """Return a weight as an expression that becomes a parameter of the module.

        Parameters
        ----------
        name : str
        values : np.ndarray, optional
            Its elements in the order that the operator takes; by default as the layer has them.
        """
        given = self.weight(name) if values is None else values
        return self.add_parameter(f"{self.name}/{name}", np.ascontiguousarray(given.astype(self.dtype)))

    def is_first(self, rank: int) -> bool:
        """Return whether a tensor of so many dimensions has its channels behind the batch."""
        return self.channels_first and rank == 4

    def axis(self, axis: int, rank: int) -> int:
        """Return where an axis of Keras, with channels last, is in the module."""
        if not -rank <= axis < rank:
            raise ModelError(f"axis {axis} is out of range for {rank} dimensions")
        axis %= rank
        return _FIRST.index(axis) if self.is_first(rank) else axis

    def channels_last(self, x: RelayExpr) -> RelayExpr:
        """Return a tensor of the module in the order of axes that Keras has."""
        last: RelayExpr = transpose(x, _LAST) if self.is_first(rank_of(x)) else x
        return last

    def placed(self, x: RelayExpr) -> RelayExpr:
        """Return a tensor in the order of axes of Keras in that of the module."""
        first: RelayExpr = transpose(x, _FIRST) if self.is_first(rank_of(x)) else x
        return first

    def spatial(self, x: RelayExpr) -> tuple[int, ...]:
        """Return the extents between batch and channels."""
        dims = static_dims(x, "the input")
        return dims[2:] if self.is_first(len(dims)) else dims[1:-1]

    def check_channels_last(self) -> None:
        """Reject a layer whose own images have their channels first.

        Raises
        ------
        ConversionError
            If they have.
        """
        if self.option("data_format", "channels_last") != "channels_last":
            raise ConversionError(
                "data_format 'channels_first' is not supported; use layout='NCHW' to get an NCHW module"
            )
