"""Layer calls, with converted inputs, weights as arrays, and layout conversions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.classic.frontend.keras.reader import Operation
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import Array, rank_of
from compiler.relay.frontend.shared.tensors import static_dims, transpose

_LAST, _FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
"""Permutations that move channels last and first."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A call of a layer or a function of ``keras.ops``.

    Attributes
    ----------
    name, kind : str
        Its name, and that of its class.
    source : keras.Operation
        The layer itself, for layers that contain others.
    add_parameter : callable
        Registers a weight by name; returns the constant that becomes a parameter.
    apply : callable
        Converts a call of a contained layer, given its inputs and keyword arguments.
    view : callable
        Returns the Layer of a contained layer.
    """

    name: str
    kind: str
    config: Mapping[str, Any]
    inputs: Sequence[RelayExpr]
    positional: Sequence[Any]
    keywords: Mapping[str, Any]
    weights: Mapping[str, Array]
    dtype: str
    channels_first: bool
    source: Operation
    add_parameter: Callable[[str, Array], RelayExpr]
    apply: Callable[..., Sequence[RelayExpr]]
    view: Callable[[Operation], Layer]

    @property
    def x(self) -> RelayExpr:
        """The first input."""
        if not self.inputs:
            raise ModelError("it has no input")
        return self.inputs[0]

    def held(self, name: str) -> Operation:
        """Return a contained layer."""
        layer: Operation = getattr(self.source, name)
        return layer

    def option(self, name: str, default: object = None) -> Any:
        """Return a configuration option, or the default if it is None."""
        value = self.config.get(name)
        return default if value is None else value

    def argument(self, index: int, name: str, default: object = None) -> Any:
        """Return an argument by position or name, or the default if it is omitted or None."""
        value = self.positional[index] if index < len(self.positional) else self.keywords.get(name)
        return default if value is None else value

    def numbers(self, name: str, count: int) -> tuple[int, ...]:
        """Return an option with one number per spatial axis."""
        value = self.option(name, 1)
        return (int(value),) * count if isinstance(value, (int, np.integer)) else tuple(int(v) for v in value)

    def weight(self, name: str) -> Array:
        """Return the values of a weight."""
        if name not in self.weights:
            raise ModelError(f"it has no weight {name!r}, only {', '.join(map(repr, self.weights)) or 'none'}")
        return self.weights[name]

    def parameter(self, name: str, values: Array | None = None) -> RelayExpr:
        """Return a weight as a parameter of the module, with values in the operator's layout."""
        given = self.weight(name) if values is None else values
        return self.add_parameter(f"{self.name}/{name}", np.ascontiguousarray(given.astype(self.dtype)))

    def is_first(self, rank: int) -> bool:
        """Return whether tensors of a rank have their channels first."""
        return self.channels_first and rank == 4

    def axis(self, axis: int, rank: int) -> int:
        """Map an axis of Keras, with channels last, to the module's layout."""
        if not -rank <= axis < rank:
            raise ModelError(f"axis {axis} is out of range for {rank} dimensions")
        axis %= rank
        return _FIRST.index(axis) if self.is_first(rank) else axis

    def channels_last(self, x: RelayExpr) -> RelayExpr:
        """Transpose a tensor of the module to Keras's axis order."""
        return transpose(x, _LAST) if self.is_first(rank_of(x)) else x

    def placed(self, x: RelayExpr) -> RelayExpr:
        """Transpose a tensor from Keras's axis order to the module's layout."""
        return transpose(x, _FIRST) if self.is_first(rank_of(x)) else x

    def spatial(self, x: RelayExpr) -> tuple[int, ...]:
        """Return the spatial extents."""
        dims = static_dims(x, "the input")
        return dims[2:] if self.is_first(len(dims)) else dims[1:-1]

    def check_channels_last(self) -> None:
        """Raise an error for layers that are configured with channels first."""
        if self.option("data_format", "channels_last") != "channels_last":
            raise ConversionError(
                "data_format 'channels_first' is not supported; use layout='NCHW' to get an NCHW module"
            )
