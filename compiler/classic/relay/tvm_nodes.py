"""Nodes of graphs, functions and targets in files that TVM wrote, where they are made of other fields than here."""

from __future__ import annotations

from compiler.ir.serialization.tvm_json import Fields, register_tvm_node
from compiler.ir.types import TypeVar
from compiler.relay.expr import Constant, Var
from compiler.relay.text_metadata import unpacked
from compiler.relay.ty import GlobalTypeVar, TupleType
from compiler.target.target import Target
from compiler.target.virtual_device import VirtualDevice
from compiler.tir.statements.function import PrimFunc


def _named(fields: Fields) -> str:
    """Return the name of a type variable, which 0.6 keeps in a variable of loop IR."""
    var = fields.get("var")
    return str(fields["name_hint"] if var is None else var.name)


def _prim_func(fields: Fields) -> PrimFunc:
    """Return a function of loop IR; TVM writes that it returns nothing as a tuple without fields."""
    returned = fields.get("ret_type")
    if isinstance(returned, TupleType) and not returned.fields:
        returned = None
    buffers, attrs = fields.get("buffer_map") or {}, fields.get("attrs") or {}
    return PrimFunc(tuple(fields["params"]), fields["body"], returned, dict(buffers), dict(attrs))


def _target(fields: Fields) -> Target:
    parts = {name: fields[name] for name in ("kind", "tag", "host") if fields.get(name)}
    return Target({**parts, "keys": list(fields.get("keys") or ()), **dict(fields.get("attrs") or {})})


register_tvm_node("tir.PrimFunc", _prim_func)
register_tvm_node("Target", _target)
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
