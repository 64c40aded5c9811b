"""Attribute classes under TVM's names: ``tvm.relay.op.op_attrs.Conv2DAttrs``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.attrs import Attrs, attrs_class
from compiler.ir.serialization.tvm_json import our_type_key


def _attributes(name: str) -> type[Attrs]:
    attributes = attrs_class(our_type_key(f"relay.attrs.{name}"))
    if attributes is None:
        raise AttributeError(f"tvm.relay.op.op_attrs has no attribute {name!r}")
    return attributes


if not TYPE_CHECKING:
    __getattr__ = _attributes
