"""Operators with shapes computed at run time: ``relay.op.dyn``."""

from compiler.relay.op_registry import find_public, load_operators

__all__ = load_operators(globals(), "dyn")


def __getattr__(name: str) -> object:
    return find_public("dyn", name)
