"""Type keys: TVM's names for node and attribute classes, and constructing nodes by them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.ir.attrs import Attrs, attrs_class, attrs_type_key
from compiler.ir.error import ArgumentError, TVMError, did_you_mean
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.extension import extension_point
from compiler.ir.node import Node, structure
from compiler.ir.serialization.codecs import NODES, codec_named

__all__ = ["TYPE_KEY", "make_node", "node_class", "node_classes", "type_key_of"]

_LOOP_IR = ("CommReducer", "DataProducer", "IterVar")
_UNPREFIXED = ("FloatImm", "GlobalTypeVar", "IntImm", "MemoryInfo", "TupleType")


TYPE_KEY = "attrs_type_key"
"""What a text calls the class of attributes that a call of a function has."""


def type_key_of(kind: type) -> str:
    """Return the type key of a class of nodes or attributes."""
    if issubclass(kind, Attrs):
        return attrs_type_key(kind)
    name = kind.__name__
    package = kind.__module__.removeprefix("compiler.").partition(".")[0]
    if name in _UNPREFIXED:
        return name
    if package == "ir":
        return f"tir.{name}" if issubclass(kind, PrimExpr) or name in _LOOP_IR else name
    return name if package == "te" else f"{package}.{name}"


_CLASSES: dict[str, type[Node]] = {}


def node_class(type_key: str) -> type[Node]:
    """Return the class of nodes that has a type key."""
    if type_key not in _CLASSES:
        _CLASSES.update(node_classes())
    try:
        return _CLASSES[type_key]
    except KeyError:
        if "attrs." in type_key:
            raise TVMError(f"there are no attributes of type {type_key!r}") from None
        raise TVMError(f"there is no node of type {type_key!r}{did_you_mean(type_key, _CLASSES)}") from None


def node_classes() -> dict[str, type[Node]]:
    """Return the classes of nodes by their type keys."""
    extension_point(NODES).load_modules()
    return {type_key_of(kind): kind for kind in _subclasses(Node)}


def _subclasses(kind: type[Node]) -> Iterator[type[Node]]:
    for below in kind.__subclasses__():
        if below.__module__.startswith("compiler."):
            yield below
            yield from _subclasses(below)


def make_node(type_key: str, **kwargs: object) -> Any:
    """Return a node, or attributes, of a class that is named by its type key, with fields by name.

    Keys are e.g. ``IntImm``, ``tir.Add``, ``relay.attrs.Conv2DAttrs`` or ``DictAttrs``.  A ``span`` is ignored: the
    origin of the node is the user's line. Raises TVMError if there is no such class. Raises ArgumentError if a field is
    unknown or missing, or its value does not fit.

    Examples
    --------
    >>> tvm.ir.make_node("IntImm", dtype="int32", value=10)
    10
    """
    codec = codec_named(type_key)
    if codec is not None:
        return codec.make(kwargs)
    kind = attrs_class(type_key)
    if kind is not None:
        return kind.make(type_key, kwargs)
    kwargs.pop("span", None)
    cls = node_class(type_key)
    names, make = structure(cls)
    has_from_fields = make is not cls
    unknown = [name for name in kwargs if name not in names]
    if unknown:
        raise ArgumentError(f"make_node: {type_key} has no field {unknown[0]!r}; it has {', '.join(names)}")
    try:
        return make(*[kwargs[name] for name in names]) if has_from_fields else make(**kwargs)
    except (KeyError, TypeError) as error:
        raise ArgumentError(f"make_node: {type_key} is made from {', '.join(names)}: {error}") from None
