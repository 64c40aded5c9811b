"""``tvm.topi.nn``: neural network operators, one file per family."""

from compiler.ir.extension import public_module
from compiler.topi.definitions import load_definitions

_SPECIFIED = (
    "bitserial", "conv", "conv_packed", "conv_transpose", "correlation", "deformable", "pool", "pool_gradients",
    "sampling",
)  # fmt: skip
"""Modules whose functions take specifications such as ``ConvSpec``; other modules export them under TVM's names."""

__all__ = load_definitions(globals(), _SPECIFIED)

__getattr__, __dir__ = public_module("tvm.topi.nn", __all__)
