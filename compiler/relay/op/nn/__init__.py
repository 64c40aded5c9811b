"""Neural network operators: ``relay.nn``."""

from compiler.relay.op_registry import find_public, load_operators

__all__ = load_operators(globals(), "nn")


def __getattr__(name: str) -> object:
    return find_public("nn", name)
