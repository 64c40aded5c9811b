"""Values that the virtual machine computes with besides arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


class ADT:
    """A tuple, or a value of an algebraic data type; indexed like a Python tuple.

    Attributes
    ----------
    tag : int
        Number of the constructor within its type; 0 of tuples.
    fields : tuple
    name : str
        The constructor's name; empty of tuples.
    """

    __slots__ = ("fields", "name", "tag")

    def __init__(self, tag: int, fields: Sequence[Any], name: str = "") -> None:
        self.tag = tag
        self.fields = tuple(fields)
        self.name = name

    def __getitem__(self, index: Any) -> Any:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fields)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.fields))})"


class Closure:
    """A function with the values that it captured, which are its first arguments."""

    __slots__ = ("captured", "function")

    def __init__(self, function: int) -> None:
        self.function = function
        self.captured: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"Closure({self.function})"


class Ref:
    """A mutable cell."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Ref({self.value!r})"
