"""Attributes of a call: an immutable mapping whose values can also be read as attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from compiler.ir.error import unknown_name


class Attrs(Mapping[str, Any]):
    """Named values, such as the strides of a convolution.

    Sequences are kept as tuples, so that attributes can be compared and hashed.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | None = None, **more: Any) -> None:
        self._values: dict[str, Any] = {k: _frozen(v) for k, v in {**(values or {}), **more}.items()}

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if name in Attrs.__slots__:
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise unknown_name("these attributes", name, self._values) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._values == dict(other)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"Attrs({', '.join(f'{k}={v!r}' for k, v in self._values.items())})"

    def with_values(self, **changes: Any) -> Attrs:
        """Return these attributes with some of them changed."""
        return Attrs({**self._values, **changes})


NO_ATTRS = Attrs()


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, (list, tuple)) else value
