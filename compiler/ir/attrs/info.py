"""Reflection of attributes: the C++ types and defaults that TVM reports for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.ir.attrs import AttrField


@dataclass(frozen=True, slots=True)
class AttrFieldInfo:
    """What is known of one field of attributes; ``type_info`` is its type in TVM, e.g. ``int, default=1``."""

    name: str
    type_info: str
    description: str


_TYPES = {"int": "int", "bool": "bool", "bool, optional": "bool", "float": "double", "EnvFunc": "EnvFunc"}
"""By the type as documentation states it."""


def field_info(name: str, field: AttrField) -> AttrFieldInfo:
    """Return what is known of a field."""
    kind = _type(field)
    default = "" if field.is_required else f", default={_default(field.default, kind)}"
    return AttrFieldInfo(name, kind + default, field.doc)


def _type(field: AttrField) -> str:
    stated = field.kind.type_name
    if field.kind.is_data_type:
        return "DataType"
    if stated in _TYPES:
        return _TYPES[stated]
    if "sequence" in stated:
        return "Array"
    return "runtime.String" if stated.startswith(("str", "{")) else "PrimExpr"


def _default(value: object, kind: str) -> str:
    if value is None:
        return "(nullptr)"
    if kind == "DataType":
        return str(value) or "void"
    if isinstance(value, (tuple, list)):
        return str(list(value))
    return str(int(value)) if isinstance(value, bool) else str(value)
