"""Graph nodes, with converted inputs and decoded attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import Array, known


@dataclass(frozen=True, slots=True)
class Node:
    """An operator node; ``run`` converts a library function, given its name and arguments."""

    name: str
    operator: str
    inputs: Sequence[RelayExpr]
    attributes: dict[str, Any]
    run: Callable[[str, Sequence[RelayExpr]], list[RelayExpr]]

    def attr(self, name: str, default: object = None) -> Any:
        """Return an attribute, or the default if it is not given."""
        value = self.attributes.get(name)
        return default if value is None else value

    def required(self, name: str) -> Any:
        """Return an attribute that must be given."""
        if self.attributes.get(name) is None:
            raise ModelError(f"attribute {name!r} must be given")
        return self.attributes[name]

    def value(self, index: int, what: str) -> Array:
        """Return the value of an input that must be constant."""
        array = known(self.inputs[index])
        if array is None:
            raise ConversionError(f"input {index} ({what}) must be known while importing, but is computed from inputs")
        return np.asarray(array)

    def ints(self, index: int, what: str) -> list[int]:
        """Return the integers of an input that must be constant."""
        return [int(v) for v in self.value(index, what).reshape(-1)]

    def pairs(self, index: int, what: str) -> list[tuple[int, int]]:
        """Return the pairs of integers of an input that must be constant."""
        numbers = self.ints(index, what)
        return list(zip(numbers[::2], numbers[1::2], strict=True))
