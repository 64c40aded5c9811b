"""Layers whose shape is known at run time only: ``relay.op.dyn.nn``."""

from compiler.relay.op_registry import find_public, load_operators

__all__ = load_operators(globals(), "dyn.nn")


def __getattr__(name: str) -> object:
    return find_public("dyn.nn", name)
