"""Annotation operators, which pass information to passes: ``relay.annotation``."""

from compiler.relay.op_registry import find_public, load_operators

__all__ = load_operators(globals(), "annotation")


def __getattr__(name: str) -> object:
    return find_public("annotation", name)
