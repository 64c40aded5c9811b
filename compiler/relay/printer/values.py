"""Constants and attributes as the text format writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import Attrs
from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.expr.primexpr import FloatImm, IntImm, PrimExpr, StringImm
from compiler.ir.serialization.type_keys import TYPE_KEY, type_key_of
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant
from compiler.relay.operator import RelayOp
from compiler.relay.printer.names import Names
from compiler.relay.printer.types import dim_text, type_text
from compiler.relay.text_metadata import quoted
from compiler.runtime.arrays.ndarray import NDArray
from compiler.target.virtual_device import VirtualDevice

_SINGLE_MAX = float(np.finfo(np.float32).max)
_SUFFIXES = {"int": "i", "uint": "u", "float": "f"}


def scalar_text(constant: Constant) -> str | None:
    """Return a scalar constant as text, such as ``2``, ``1f`` or ``3i64``; None if it is too large.

    ``int32`` and ``bool`` have no ending, ``float32`` ends in a plain ``f``, all others name their width.
    """
    data = constant.data
    kind = dt.parse(data.dtype)
    if data.shape or kind.code not in ("int", "uint", "float", "bool"):
        return None
    value: Any = data.view()[()]
    if kind.code == "bool":
        return str(bool(value))
    width = "" if data.dtype in ("int32", "float32") else str(kind.bits)
    letter = "" if data.dtype == "int32" else _SUFFIXES[kind.code]
    return f"{float_text(value) if kind.code == 'float' else int(value)}{letter}{width}"


def float_text(value: float | np.floating[Any]) -> str:
    """Return a floating-point number with as many digits as are needed to read it back, and at least six."""
    short = f"{float(value):g}"
    kind = type(value) if isinstance(value, np.floating) else float
    if kind(short) == value or value != value:
        return short
    text = repr(float(value)) if kind is float else str(value)
    return text.removesuffix(".0")


def shown_attrs(call: Call) -> dict[str, Any]:
    """Return the attributes of a call that must be written: those that differ from their defaults or have none."""
    attrs: Attrs = call.attrs
    if not isinstance(call.op, RelayOp):
        typed = {} if isinstance(attrs, DictAttrs) else {TYPE_KEY: type_key_of(type(attrs))}
        return {**attrs, **typed}
    declared, unwritten = call.op.attributes, call.op.attrs_type.UNWRITTEN
    return {
        name: value
        for name, value in attrs.items()
        if name not in declared
        or name in call.op.spelt_out
        or not _is_default(value, unwritten.get(name, declared[name].default))
    }


def _is_default(value: object, default: object) -> bool:
    """Return whether a value is the default one; floats are if they are one in single precision, as for equality."""
    if isinstance(value, float) and isinstance(default, float) and abs(value) < _SINGLE_MAX > abs(default):
        return bool(np.float32(value) == np.float32(default))
    return isinstance(value, type(default)) and bool(value == default)


class ValueText:
    """Writes attribute values; large constants go to a table."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.constants: dict[int, Constant] = {}
        """The constants of the metadata section, by identity, in the order of their numbers."""
        self._numbers: dict[int, int] = {}

    def constant(self, constant: Constant) -> str:
        """Return a constant, or its place in the metadata."""
        scalar = scalar_text(constant)
        if scalar is not None:
            return scalar
        key = id(constant.data)
        if key not in self.constants:
            self._numbers[key] = len(self.constants)
            self.constants[key] = constant
        return f"meta[relay.Constant][{self._numbers[key]}]"

    def attributes(self, attrs: Mapping[str, object]) -> list[str]:
        """Return ``name=value`` for each attribute."""
        return [f"{name}={self.value(value)}" for name, value in attrs.items()]

    def value(self, value: object) -> str:
        """Return the value of an attribute."""
        match value:
            case None | bool():
                return str(value)
            case str():
                return quoted(value)
            case int() | np.integer():
                return str(int(value))
            case float() | np.floating():
                return f"{float_text(float(value))}f"
            case tuple() | list():
                return f"[{', '.join(self.value(v) for v in value)}]"
            case Mapping():
                return "{" + ", ".join(f"{quoted(str(k))}={self.value(v)}" for k, v in value.items()) + "}"
            case Constant():
                return self.constant(value)
            case NDArray():
                return self.constant(Constant(value))
            case Type():
                return type_text(value, self._names)
            case PrimExpr():
                return self._prim(value)
            case VirtualDevice():
                return str(value)
            case _:
                return quoted(str(value))

    def _prim(self, value: PrimExpr) -> str:
        if isinstance(value, IntImm):
            return f"{value.value}{'' if value.dtype == 'int32' else 'i' + str(dt.bits(value.dtype))}"
        if isinstance(value, FloatImm):
            return f"{float_text(value.value)}f{'' if value.dtype == 'float32' else dt.bits(value.dtype)}"
        return quoted(value.value) if isinstance(value, StringImm) else dim_text(value, self._names)
