"""Quantized operators, on integers with a scale and a zero point: ``relay.qnn``."""

import sys

from compiler.ir.extension import extension_point
from compiler.relay.op_registry import find_public, load_operators

__all__ = ["op", *load_operators(globals(), "qnn")]

op = sys.modules[__name__]
"""Programs say ``relay.qnn.op.quantize``."""


def __getattr__(name: str) -> object:
    if (load := extension_point("tvm.relay.qnn").find(name)) is not None:
        return load()
    return find_public("qnn", name)
