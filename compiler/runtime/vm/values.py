"""Values of the virtual machine other than arrays."""

from __future__ import annotations

from typing import TypeAlias

from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.container import ADT

__all__ = ["ADT", "Closure", "Ref", "Value"]


class Closure:
    """A function, by its number in the executable, with the values that it captured, which are its first arguments."""

    __slots__ = ("captured", "function")

    def __init__(self, function: int) -> None:
        self.function = function
        self.captured: tuple[Value, ...] = ()

    def __repr__(self) -> str:
        return f"Closure({self.function})"


class Ref:
    """A mutable cell."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Ref({self.value!r})"


Value: TypeAlias = NDArray | ADT | Closure | Ref
"""What a register of the virtual machine holds."""
