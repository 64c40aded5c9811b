"""JSON codecs for objects that are not plain nodes, by class: for :mod:`compiler.ir.serialization.json_format`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from compiler.ir.extension import extension_point

NODES = "nodes"
"""The extension point of nodes and codecs: the modules of higher layers that define some."""

Fields: TypeAlias = Mapping[str, Any]
"""What an object is made of, by name."""


@dataclass(frozen=True, slots=True)
class Codec:
    """How the objects of a class are written and read, other than field by field."""

    type_key: str
    fields: Callable[[Any], Fields]
    make: Callable[[Fields], Any]


_BY_CLASS: dict[type, Codec] = {}
_BY_KEY: dict[str, Codec] = {}


def register_codec(
    kind: type, type_key: str, fields: Callable[[Any], Fields], make: Callable[[Fields], object]
) -> None:
    """Say how the objects of a class are written and read.

    ``fields`` maps an object to its fields by name: constants, nodes, sequences and mappings of them.
    """
    if type_key in _BY_KEY:
        raise ValueError(f"register_codec: {type_key} is registered twice")
    _BY_CLASS[kind] = _BY_KEY[type_key] = Codec(type_key, fields, make)


def codec_of(kind: type) -> Codec | None:
    """Return how the objects of a class are written; None if field by field."""
    return next((_BY_CLASS[base] for base in kind.__mro__ if base in _BY_CLASS), None)


def codec_named(type_key: str) -> Codec | None:
    """Return how the objects of a class are read; None if field by field."""
    codec = _BY_KEY.get(type_key)
    if codec is None and extension_point(NODES).load_modules():
        codec = _BY_KEY.get(type_key)
    return codec
