"""Virtual machine operators on shapes and kernels: ``relay.op.vm``."""

from compiler.relay.op_registry import find_public, load_operators

__all__ = load_operators(globals(), "vm")


def __getattr__(name: str) -> object:
    return find_public("vm", name)
