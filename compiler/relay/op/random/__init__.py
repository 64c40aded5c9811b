"""Counter-based random numbers: ``relay.random``."""

from compiler.relay.op_registry import find_public, load_operators

__all__ = load_operators(globals(), "random")


def __getattr__(name: str) -> object:
    return find_public("random", name)
