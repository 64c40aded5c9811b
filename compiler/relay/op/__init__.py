"""Relay operators, one file per operator family: ``relay.op``.

A family's file registers its operators; what this package exports follows from the registrations.
"""

from compiler.ir.extension import extension_point
from compiler.relay.op_registry import find_public, load_operators
from compiler.relay.operator import get

__all__ = ["get", *load_operators(globals(), "")]


def __getattr__(name: str) -> object:
    if (load := extension_point("tvm.relay.op").find(name)) is not None:
        return load()
    return find_public("", name)
