"""Programs as JSON text: ``tvm.ir.save_json`` and ``tvm.ir.load_json``.

The text is a table of everything that a program is made of, in an order in which each entry needs only earlier ones.
An entry names the class by its type key, and its fields; a field holds a constant, or ``{"node": 7}`` for the entry
number 7, so that what the program uses twice is in the table once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs, attrs_class
from compiler.ir.env_func import EnvFunc
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr, set_checked_type
from compiler.ir.module import IRModule
from compiler.ir.node import Node, structure
from compiler.ir.op import Op
from compiler.ir.serialization.codecs import Fields, codec_named, codec_of, register_codec
from compiler.ir.serialization.tvm_json import is_tvm_json, load_tvm_json
from compiler.ir.serialization.type_keys import make_node, node_class, type_key_of
from compiler.ir.source_span import SourceName, Span
from compiler.ir.types import InferredTypes

_FORMAT = "strata-graph"
_VERSION = 1
_CHECKED_TYPE = "_checked_type_"
_SPAN_FIELDS = ("source_name", "line", "end_line", "column", "end_column")


def save_json(node: object) -> str:
    """Return a program, or a part of one, as JSON text for :func:`load_json`; Python functions cannot be written."""
    writer = _Writer()
    root = writer.write(node)
    return json.dumps({"format": _FORMAT, "version": _VERSION, "root": root, "nodes": writer.entries})


def load_json(json_str: str) -> Any:
    """Return what :func:`save_json` wrote, here or in TVM; variables are new ones, sequences are tuples.

    Raises ArgumentError if the text is no such JSON; the message says where it goes wrong. Raises TVMError if a value
    does not fit its node.
    """
    try:
        table = json.loads(json_str)
    except json.JSONDecodeError as error:
        raise ArgumentError(f"load_json: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ArgumentError("load_json: the text nests too deeply") from None
    if is_tvm_json(table):
        return load_tvm_json(table)
    if not isinstance(table, dict) or table.get("format") != _FORMAT or not isinstance(table.get("nodes"), list):
        raise ArgumentError("load_json: expected text written by tvm.ir.save_json")
    reader = _Reader()
    for entry in table["nodes"]:
        reader.add(entry)
    return reader.value(table.get("root"))


class _Writer:
    """Enters objects into the table, each after what it is made of; graphs are deep, so it keeps its own stack."""

    def __init__(self) -> None:
        self.entries: list[dict[str, object]] = []
        self._number: dict[int, int] = {}
        self._open: set[int] = set()
        self._alive: list[object] = []

    def write(self, root: object) -> object:
        """Enter an object; return the reference to it."""
        todo: list[tuple[object, tuple[str, Fields] | None]] = [(root, None)]
        while todo:
            thing, parts = todo.pop()
            if parts is not None:
                self._enter(thing, *parts)
            elif not _is_constant(thing) and id(thing) not in self._number:
                if id(thing) in self._open:
                    raise ArgumentError(f"save_json: {show(thing)} contains itself")
                self._open.add(id(thing))
                parts = _parts(thing)
                todo.append((thing, parts))
                todo.extend((part, None) for value in parts[1].values() for part in _items(value))
        return self._reference(root)

    def _enter(self, thing: object, type_key: str, fields: Fields) -> None:
        written = {
            name: [self._reference(item) for item in value] if type(value) is list else self._reference(value)
            for name, value in fields.items()
        }
        self._number[id(thing)] = len(self.entries)
        self._open.discard(id(thing))
        self._alive.append((thing, fields))  # an address names an object only as long as it is there
        self.entries.append({"type_key": type_key, "attrs": written})

    def _reference(self, thing: object) -> object:
        return _constant(thing) if _is_constant(thing) else {"node": self._number[id(thing)]}


def _items(value: object) -> list[object]:
    """Return the parts of a field: several only where a codec says so by a list."""
    return value if type(value) is list else [value]


def _is_constant(thing: object) -> bool:
    return thing is None or isinstance(thing, (str, int, float, np.generic))


def _constant(thing: object) -> object:
    if isinstance(thing, np.generic):
        return thing.item()
    return thing.value if isinstance(thing, Enum) else thing


def _parts(thing: object) -> tuple[str, Fields]:
    """Return the type key of an object, and its fields."""
    codec = codec_of(type(thing))
    if codec is not None:
        return codec.type_key, codec.fields(thing)
    if isinstance(thing, Attrs):
        return type_key_of(type(thing)), dict(thing)
    if isinstance(thing, Node):
        names, _ = structure(type(thing))
        values = {name: getattr(thing, name) for name in names}
        fields = {name: () if type(value) is InferredTypes else value for name, value in values.items()}
        if isinstance(thing, RelayExpr) and thing.checked_type_ is not None:
            fields[_CHECKED_TYPE] = thing.checked_type_
        return type_key_of(type(thing)), fields
    if isinstance(thing, Mapping):
        return "Map", {"keys": list(thing), "data": list(thing.values())}
    raise ArgumentError(f"save_json: a value of type {type(thing).__name__} cannot be written: {show(thing)}")


class _Reader:
    """Makes the objects of a table, in its order."""

    def __init__(self) -> None:
        self._made: list[object] = []

    def add(self, entry: object) -> None:
        """Make the next object of the table."""
        where = f"load_json: node {len(self._made)}"
        attrs = entry.get("attrs") if isinstance(entry, dict) else None
        type_key = entry.get("type_key") if isinstance(entry, dict) else None
        if not isinstance(attrs, dict) or not isinstance(type_key, str):
            raise ArgumentError(f"{where}: expected a type_key and attrs, got {show(entry)}")
        fields = {name: self.value(value) for name, value in attrs.items()}
        try:
            self._made.append(_object(type_key, fields))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ArgumentError(f"{where}: invalid fields for {type_key}: {error}") from None

    def value(self, written: object) -> object:
        """Return what a field holds."""
        if isinstance(written, list):
            return [self.value(item) for item in written]
        if not isinstance(written, dict):
            return written
        number = written.get("node")
        if not isinstance(number, int) or not 0 <= number < len(self._made):
            where = f"load_json: node {len(self._made)}"
            raise ArgumentError(f"{where}: expected the number of an earlier node, got {show(written)}")
        return self._made[number]


def _object(type_key: str, fields: dict[str, Any]) -> object:
    codec = codec_named(type_key)
    if codec is not None:
        return codec.make(fields)
    checked_type = fields.pop(_CHECKED_TYPE, None)
    made = _made_node(type_key, fields)
    if checked_type is not None:
        set_checked_type(made, checked_type)
    return made


def _made_node(type_key: str, fields: dict[str, object]) -> Any:
    """Return a node of exactly these fields, or attributes."""
    if attrs_class(type_key) is not None:
        return make_node(type_key, **fields)
    names, make = structure(node_class(type_key))
    return make(*[fields[name] for name in names])


register_codec(tuple, "Array", lambda items: {"data": list(items)}, lambda fields: tuple(fields["data"]))
register_codec(list, "List", lambda items: {"data": list(items)}, lambda fields: list(fields["data"]))
register_codec(
    dict,
    "Map",
    lambda mapping: {"keys": list(mapping), "data": list(mapping.values())},
    lambda fields: dict(zip(fields["keys"], fields["data"], strict=True)),
)
register_codec(
    SourceName, "SourceName", lambda source: {"name": source.name}, lambda fields: SourceName(fields["name"])
)
register_codec(
    Span,
    "Span",
    lambda span: {name: getattr(span, name) for name in _SPAN_FIELDS},
    lambda fields: Span(*(fields[name] for name in _SPAN_FIELDS)),
)
register_codec(Op, "Op", lambda op: {"name": op.name}, lambda fields: Op.get(fields["name"]))
register_codec(EnvFunc, "EnvFunc", lambda f: {"name": f.name}, lambda fields: EnvFunc.get(fields["name"]))
register_codec(
    IRModule,
    "IRModule",
    lambda mod: {
        "functions": mod.functions,
        "attrs": mod.attrs,
        "type_definitions": mod.type_definitions,
        "global_infos": mod.global_infos,
    },
    lambda fields: IRModule(
        fields["functions"], fields["type_definitions"], fields["attrs"], fields.get("global_infos")
    ),
)
