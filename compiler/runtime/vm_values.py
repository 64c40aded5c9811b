"""Values that the virtual machine computes with besides arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from compiler.runtime.ndarray import NDArray

__all__ = ["ADT", "Closure", "Ref", "Value"]


class ADT:
    """A tuple, or a value of an algebraic data type; indexed like a Python tuple.

    Parameters
    ----------
    tag : int
        Number of the constructor within its type; 0 of tuples.
    fields : sequence of NDArray, ADT, Closure or Ref
        What the value is made of.
    name : str
        The constructor's name; empty of tuples.
    """

    __slots__ = ("fields", "name", "tag")

    def __init__(self, tag: int, fields: Sequence[Value], name: str = "") -> None:
        self.tag = tag
        self.fields = tuple(fields)
        self.name = name

    def __getitem__(self, index: int) -> Value:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.fields)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.fields))})"


class Closure:
    """A function with the values that it captured, which are its first arguments.

    Parameters
    ----------
    function : int
        Number of the function in its executable.
    """

    __slots__ = ("captured", "function")

    def __init__(self, function: int) -> None:
        self.function = function
        self.captured: tuple[Value, ...] = ()

    def __repr__(self) -> str:
        return f"Closure({self.function})"


class Ref:
    """A mutable cell.

    Parameters
    ----------
    value : NDArray, ADT, Closure or Ref
        What it holds.
    """

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Ref({self.value!r})"


Value: TypeAlias = NDArray | ADT | Closure | Ref
"""What a register of the virtual machine holds."""
