"""Nodes of graphs in files that TVM wrote, where they are made of other fields than here."""

from __future__ import annotations

from compiler.ir.tvm_json import Fields, register_tvm_node
from compiler.ir.types import TypeVar
from compiler.relay.expr import Constant, Var
from compiler.relay.text_metadata import unpacked
from compiler.relay.ty import GlobalTypeVar
from compiler.target.virtual_device import VirtualDevice


def _named(fields: Fields) -> str:
    """Return the name of a type variable, which 0.6 keeps in a variable of loop IR."""
    var = fields.get("var")
    return str(fields["name_hint"] if var is None else var.name)


register_tvm_node("relay.Id", lambda fields: str(fields["name_hint"]))
register_tvm_node("relay.Var", lambda fields: Var(fields["vid"], fields.get("type_annotation")))
register_tvm_node("relay.Constant", lambda fields: Constant(unpacked(fields["data"])))
for _prefix in ("", "relay."):
    register_tvm_node(f"{_prefix}TypeVar", lambda fields: TypeVar(_named(fields), fields.get("kind", 0)))
    register_tvm_node(f"{_prefix}GlobalTypeVar", lambda fields: GlobalTypeVar(_named(fields)))
register_tvm_node(
    "VirtualDevice",
    lambda fields: VirtualDevice.of_fields(
        int(fields["device_type_int"]), int(fields["virtual_device_id"]), None, fields.get("memory_scope") or ""
    ),
)
