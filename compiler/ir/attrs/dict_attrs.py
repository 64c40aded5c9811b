"""Attributes without a declared schema, as functions have them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from compiler.ir.attrs import Attrs
from compiler.ir.attrs.integer import kept_attr
from compiler.ir.error import unknown_name

DERIVED_ATTRS: dict[str, Callable[[Attrs], object]] = {}
"""Functions that compute attributes from others, by name; they raise ``KeyError`` where those are missing."""


class DictAttrs(Attrs):
    """Attributes with arbitrary names and values; sequences become tuples, so that they can be compared and hashed."""

    type_key = "DictAttrs"

    __slots__ = ("_entries",)
    _entries: dict[str, object]

    def __init__(self, values: Mapping[str, object] | None = None, **more: object) -> None:
        self._fill("DictAttrs", {**(values or {}), **more})

    def _fill(self, owner: str, values: Mapping[str, object]) -> None:
        object.__setattr__(self, "_entries", {name: kept_attr(value) for name, value in values.items()})

    def __getitem__(self, key: str) -> Any:
        if key not in self._entries and key in DERIVED_ATTRS:
            return DERIVED_ATTRS[key](self)
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._entries[name]
        except KeyError:
            raise unknown_name("these attributes", name, self._entries) from None

    def __str__(self) -> str:
        """Return the attributes as TVM prints them: as JSON, if all values are numbers, strings and lists."""
        return _json_text(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._entries == dict(other)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def with_values(self, **changes: object) -> DictAttrs:
        return DictAttrs({**self._entries, **changes})


def _json_text(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {_json_text(v)}" for key, v in value.items()) + "}"
    if isinstance(value, tuple):
        return f"[{', '.join(_json_text(v) for v in value)}]"
    return json.dumps(value) if isinstance(value, str) else str(value)


NO_ATTRS = DictAttrs()
"""The attributes of a call or function without any."""
