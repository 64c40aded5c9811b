"""Object detection operators: ``relay.vision``."""

from compiler.relay.op_registry import find_public, load_operators

__all__ = load_operators(globals(), "vision")


def __getattr__(name: str) -> object:
    return find_public("vision", name)
