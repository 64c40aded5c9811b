"""Operators on images: ``relay.image``."""

from compiler.relay.op_registry import find_public, load_operators

__all__ = load_operators(globals(), "image")


def __getattr__(name: str) -> object:
    return find_public("image", name)
