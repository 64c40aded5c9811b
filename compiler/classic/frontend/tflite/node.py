"""Graph nodes, with converted inputs and decoded options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from compiler.classic.frontend.tflite.reader import Operation, TensorInfo
from compiler.classic.frontend.tflite.variables import Variables
from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Tuple
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import Array, known, type_of

Run: TypeAlias = Callable[[int, Sequence[RelayExpr]], list[RelayExpr]]
"""Converts a subgraph, given its number and arguments."""


@dataclass(frozen=True, slots=True)
class Node:
    """An operator node.

    Quantized inputs are dequantized, except for operators that only move elements and for quantized converters;
    converters ask :meth:`input` for an optional input, which is None if omitted.
    """

    operation: Operation
    inputs: Sequence[RelayExpr]
    outputs: Sequence[TensorInfo]
    tensors: Sequence[TensorInfo | None]
    run: Run
    variables: Variables

    def input(self, index: int) -> RelayExpr | None:
        """Return an input, or None if it is omitted."""
        return self.inputs[index] if index < len(self.inputs) else None

    def complex(self, index: int) -> tuple[RelayExpr, ...]:
        """Return the real and the imaginary parts of an input that must be complex."""
        given = self.inputs[index]
        if not isinstance(given, Tuple):
            raise ConversionError(f"input {index} must be complex, as RFFT2D makes it, got {type_of(given)}")
        return given.fields

    def option(self, name: str, default: object = 0) -> Any:
        """Return an option by the name of its accessor, or the default if the node has no options."""
        options = self.operation.options
        return default if options is None else getattr(options, name)()

    def value(self, index: int, what: str) -> Array:
        """Return the value of an input that must be constant."""
        given = self.input(index)
        if given is None:
            raise ModelError(f"input {index} ({what}) must be given")
        array = known(given)
        if array is None:
            raise ConversionError(f"input {index} ({what}) must be known while importing, but is computed from inputs")
        return np.asarray(array)

    def ints(self, index: int, what: str) -> list[int]:
        """Return the integers of an input that must be constant."""
        return [int(v) for v in self.value(index, what).reshape(-1)]
