"""Runtime containers under TVM's names, implemented by Python's own.

Nodes hold tuples and dictionaries; each tuple counts as an :class:`Array`, and each mapping as a :class:`Map`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from compiler.ir.error import BoundError

__all__ = ["ADT", "Array", "Map", "ShapeTuple", "String", "getitem_helper", "tuple_object"]

Item = TypeVar("Item")
Key = TypeVar("Key")
Value = TypeVar("Value")


class _AnyOf(type):
    """The type of containers that others count as as well."""

    counts_as: tuple[type, ...]

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.counts_as)


class Array(tuple[Item, ...], metaclass=_AnyOf):
    """A sequence that does not change; each tuple counts as one."""

    counts_as = (tuple,)
    type_key = "Array"

    def __new__(cls, items: Iterable[Item] = ()) -> Array[Item]:
        return super().__new__(cls, items)


class Map(dict[Key, Value], metaclass=_AnyOf):
    """A mapping; each mapping counts as one."""

    counts_as = (Mapping,)
    type_key = "Map"

    def __init__(self, items: Mapping[Key, Value] | Iterable[tuple[Key, Value]] = ()) -> None:
        super().__init__(items)


class String(str, metaclass=_AnyOf):
    """A text; each ``str`` counts as one."""

    counts_as = (str,)

    def __new__(cls, content: str = "") -> String:
        return super().__new__(cls, content)

    @property
    def __tvm_object__(self) -> String:
        """The object of the runtime: the text itself."""
        return self

    def same_as(self, other: object) -> bool:
        """Return whether another text is this very one."""
        return self is other


class ShapeTuple(tuple[int, ...]):
    """A shape of constant extents."""

    def __new__(cls, shape: Sequence[int] = ()) -> ShapeTuple:
        return super().__new__(cls, (int(extent) for extent in shape))

    def __eq__(self, other: object) -> bool:
        return super().__eq__(tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return str(list(self))

    __str__ = __repr__


class ADT:
    """A tagged sequence of values: a tuple (tag 0, no name), or a value of the constructor of this tag and name."""

    __slots__ = ("fields", "name", "tag")

    def __init__(self, tag: int, fields: Sequence[Any], name: str = "") -> None:
        self.tag = tag
        self.fields = tuple(fields)
        self.name = name

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, index: int | slice) -> Any:
        return getitem_helper(self, self.fields.__getitem__, len(self.fields), index)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fields)

    def __repr__(self) -> str:
        if not self.tag and not self.name:
            return repr(self.fields)
        return f"{self.name or f'ADT {self.tag}'}({', '.join(map(repr, self.fields))})"


def tuple_object(fields: Sequence[object] | None = None) -> ADT:
    """Return values as a tagged sequence of the tag 0."""
    return ADT(0, fields or ())


def getitem_helper(obj: object, elem_getter: Callable[[int], Item], length: int, idx: int | slice) -> Item | list[Item]:
    """Return what an index or a slice stands for.

    Raises BoundError if there is no such element.
    """
    if isinstance(idx, slice):
        return [elem_getter(i) for i in range(*idx.indices(length))]
    if not -length <= idx < length:
        raise BoundError(f"{type(obj).__name__}: index {idx} is out of range, the length is {length}")
    return elem_getter(idx % length)
