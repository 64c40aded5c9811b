"""Memory of the virtual machine: ``relay.op.memory``."""

from compiler.relay.op.memory.tuple_types import flatten_tuple_type, from_tuple_type, to_tuple_type
from compiler.relay.op_registry import find_public, load_operators

__all__ = [*load_operators(globals(), "memory"), "flatten_tuple_type", "from_tuple_type", "to_tuple_type"]


def __getattr__(name: str) -> object:
    return find_public("memory", name)
