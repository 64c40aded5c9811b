"""Reads the JSON that ``save_json`` of TVM 0.6 to 0.19 wrote.

The text is a table of nodes that name each other by position, in any order; node 0 is nothing.  A field is a string:
a number, a name, or the position of a node, which the class of the node tells apart.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeAlias

from compiler.ir.attrs import attrs_class
from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.expr import set_checked_type
from compiler.ir.expr.axes import Range
from compiler.ir.extension import extension_point
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import structure
from compiler.ir.op import Op
from compiler.ir.serialization.codecs import NODES
from compiler.ir.serialization.type_keys import node_class

Fields: TypeAlias = dict[str, Any]
_Row: TypeAlias = Mapping[str, Any]
"""What a node is made of, by TVM's names; arrays are bytes in TVM's binary format."""

_OLDER_KEYS = {
    "Variable": "tir.Var",
    "SizeVar": "tir.SizeVar",
    "StrMap": "Map",
    "relay.attrs.TopkAttrs": "relay.attrs.TopKAttrs",
}
"""Type keys, most of them of 0.6, that are called otherwise here."""
_OBJECTS = frozenset(("units", "channels"))
"""Attributes of operators that are numbers here and nodes in TVM, whatever the operator."""
_OBJECTS_OF: Mapping[str, tuple[str, ...]] = {
    "relay.attrs.GatherAttrs": ("axis",),
    "relay.attrs.GatherNDAttrs": ("batch_dims", "index_rank"),
    "relay.attrs.MultinomialAttrs": ("num_samples",),
    "relay.attrs.RepeatAttrs": ("repeats", "axis"),
    "relay.attrs.ReshapeLikeAttrs": ("lhs_end", "rhs_end"),
    "relay.attrs.ReverseAttrs": ("axis",),
    "relay.attrs.ReverseSequenceAttrs": ("seq_axis", "batch_axis"),
    "relay.attrs.ScanopAttrs": ("axis", "exclusive"),
    "relay.attrs.SplitAttrs": ("indices_or_sections",),
    "relay.attrs.StackAttrs": ("axis",),
    "relay.attrs.TakeAttrs": ("batch_dims", "axis"),
    "relay.attrs.TopKAttrs": ("k",),
    "relay.attrs.YoloReorgAttrs": ("stride",),
}
"""Those of single operators."""


def our_type_key(type_key: str) -> str:
    """Return the type key that a class has here."""
    return _OLDER_KEYS.get(type_key, type_key)


def is_tvm_json(table: object) -> bool:
    """Return whether a text, decoded, is what TVM writes."""
    return isinstance(table, dict) and "format" not in table and {"root", "nodes", "b64ndarrays"} <= table.keys()


def load_tvm_json(table: Mapping[str, object]) -> Any:
    """Return what a text is that TVM wrote."""
    extension_point(NODES).load_modules()
    nodes, arrays = table["nodes"], table["b64ndarrays"]
    if not isinstance(nodes, list) or not isinstance(arrays, list) or not all(isinstance(n, dict) for n in nodes):
        raise ArgumentError("load_json: expected a list of nodes and a list of arrays")
    return _Reader(nodes, arrays).root(table["root"])


_MAKERS: dict[str, Callable[[Fields], Any]] = {}


def register_tvm_node(type_key: str, make: Callable[[Fields], object]) -> None:
    """Say how a node is made that has other fields here than in TVM."""
    _MAKERS[type_key] = make


class _Reader:
    """Makes the nodes that the root needs, each after what it is made of."""

    def __init__(self, nodes: Sequence[_Row], arrays: Sequence[str]) -> None:
        self._nodes = nodes
        self._arrays = arrays
        self._made: dict[int, object] = {0: None}

    def root(self, number: object) -> object:
        """Return a node, without recursion: graphs are deep."""
        first = self._position(number, "the root")
        todo, opened = [(first, False)], set[int]()
        while todo:
            here, ready = todo.pop()
            if here in self._made:
                continue
            if ready:
                self._made[here] = self._make(here)
                continue
            if here in opened:
                raise ArgumentError(f"load_json: node {here} contains itself")
            opened.add(here)
            todo.append((here, True))
            todo += [(part, False) for part in reversed(self._parts(here)) if part not in self._made]
        return self._made[first]

    def _position(self, value: object, where: str) -> int:
        if not isinstance(value, (int, str)) or not str(value).isdigit() or int(value) >= len(self._nodes):
            raise ArgumentError(f"load_json: {where}: expected the position of a node, got {show(value)}")
        return int(value)

    def _key(self, here: int) -> str:
        key = str(self._nodes[here].get("type_key", ""))
        return our_type_key(key)

    # what a node is made of

    def _parts(self, here: int) -> list[int]:
        node, where = self._nodes[here], f"node {here}"
        if "data" in node:
            return [self._position(p, where) for p in node["data"]]
        attrs = node.get("attrs", {})
        return [self._position(attrs[name], where) for name in attrs if self._is_node(here, name)]

    def _is_node(self, here: int, name: str) -> bool:
        """Return whether a field is the position of a node."""
        value, key = self._nodes[here]["attrs"][name], self._key(here)
        if not isinstance(value, str) or not value.isdigit() or int(value) >= len(self._nodes):
            return False
        kind = self._declared(key).get(name, "")
        if kind in ("int", "bool", "float") or (key == "relay.Constant" and name == "data"):
            return False
        if kind == "str":
            return self._nodes[int(value)].get("type_key") == "runtime.String"
        return True

    def _declared(self, key: str) -> Mapping[str, str]:
        """Return what the fields of a class are: ``str``, ``int``, ``bool`` and ``float`` stand for themselves."""
        attributes = attrs_class(key)
        if attributes is not None:
            declared = attributes.__attr_fields__
            return {name: _attribute_kind(key, name, field.kind.type_name) for name, field in declared.items()}
        if key in _OF_NODES_ALONE:
            return {}
        if ".attrs." in key:
            raise ArgumentError(f"load_json: there are no attributes of type {key!r}")
        try:
            cls = node_class(_class_key(key))
        except TVMError:
            return _PLAIN
        own = {f.name: "int" if str(f.type) in _NUMBERED else str(f.type) for f in fields(cls)}
        return {**_PLAIN, **own}

    # making

    def _make(self, here: int) -> object:
        node, key = self._nodes[here], self._key(here)
        try:
            if key == "runtime.String":
                return node.get("repr_str", "")
            if key in _BOXES:
                return _BOXES[key](node["repr_str"])
            if key in ("Op", "relay.Op"):
                return Op.get(node.get("repr_str") or node["global_key"])
            if key == "Array":
                return tuple(self._made[int(p)] for p in node.get("data", ()))
            if key == "Map":
                return self._map(node)
            attrs = {name: self._value(here, name) for name in node.get("attrs", {})}
            return self._object(key, attrs)
        except TVMError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, struct.error) as error:
            raise ArgumentError(f"load_json: node {here}: invalid fields for {key}: {error}") from None

    def _map(self, node: _Row) -> dict[object, object]:
        values = [self._made[int(p)] for p in node.get("data", ())]
        if "keys" in node:
            return dict(zip(node["keys"], values, strict=True))
        return dict(zip(values[::2], values[1::2], strict=True))

    def _value(self, here: int, name: str) -> object:
        value = self._nodes[here]["attrs"][name]
        if self._is_node(here, name):
            return self._made[int(value)]
        kind = self._declared(self._key(here)).get(name, "")
        if kind in ("int", "bool"):
            return bool(int(value)) if kind == "bool" else int(value)
        return float(value) if kind == "float" else value

    def _object(self, key: str, attrs: Fields) -> object:
        if key == "DictAttrs":
            return DictAttrs(attrs.get("__dict__") or {})
        cls = attrs_class(key)
        if cls is not None:
            given = {name: value for name, value in attrs.items() if name in cls.__attr_fields__ and value is not None}
            return cls(**given)
        if key == "relay.Constant":
            attrs["data"] = base64.b64decode(self._arrays[int(attrs["data"])])
        made = _MAKERS[key](attrs) if key in _MAKERS else _plain(key, attrs)
        if attrs.get("_checked_type_") is not None and made is not None:
            set_checked_type(made, attrs["_checked_type_"])
        return made


_PLAIN: Mapping[str, str] = {"dtype": "str", "name": "str", "name_hint": "str", "kind": "int", "value": "int"}
"""What fields are that classes have by the same names, whatever they are called here."""
_OF_NODES_ALONE = frozenset(("Target",))
"""Classes whose fields are nodes, even those that are names."""
_NUMBERED = frozenset(("TypeKind", "ForKind"))
"""Types of fields that are written as numbers."""


_BOXES: Mapping[str, Callable[[str], object]] = {
    "runtime.BoxBool": lambda text: bool(int(text)),
    "runtime.BoxFloat": float,
    "runtime.BoxInt": int,
    "TargetKind": str,
}
"""Numbers and names that are nodes of their own."""


def _attribute_kind(key: str, name: str, kind: str) -> str:
    """Return what an attribute of an operator is in TVM: a number, a string, or (empty) a node."""
    if name in _OBJECTS or name in _OBJECTS_OF.get(key, ()):
        return ""
    if kind.startswith(("int", "a positive int", "bool", "float", "number")) and "sequence" not in kind:
        return "bool" if kind.startswith("bool") else "float" if kind.startswith(("float", "number")) else "int"
    return "" if "sequence" in kind else "str"


def _class_key(key: str) -> str:
    """Return the type key that a class of an older release has here."""
    for candidate in (key, key.removeprefix("relay."), f"tir.{key}"):
        try:
            node_class(candidate)
        except TVMError:
            continue
        return candidate
    return key


def _plain(key: str, attrs: Fields) -> Any:
    """Return a node whose fields have TVM's names."""
    cls = node_class(_class_key(key))
    names, make = structure(cls)
    optional = {f.name for f in fields(cls) if f.default is not MISSING or f.default_factory is not MISSING}
    given = {name: attrs[name] for name in names if name in attrs and not (attrs[name] is None and name in optional)}
    return make(**given)


def _module(attrs: Fields) -> IRModule:
    free = attrs.get("attrs")
    return IRModule(dict(attrs["functions"]), dict(attrs.get("type_definitions") or {}), dict(free) if free else None)


register_tvm_node("IRModule", _module)
register_tvm_node("Range", lambda attrs: Range.from_fields(attrs["min"], attrs["extent"]))
register_tvm_node("relay.Module", _module)
register_tvm_node("GlobalVar", lambda attrs: GlobalVar(attrs["name_hint"]))
register_tvm_node("relay.GlobalVar", lambda attrs: GlobalVar(attrs["name_hint"]))
register_tvm_node("SourceMap", lambda attrs: None)
register_tvm_node("Span", lambda attrs: None)
register_tvm_node("SourceName", lambda attrs: None)
