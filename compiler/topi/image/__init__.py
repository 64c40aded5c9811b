"""``tvm.topi.image``: image resizing and sampling."""

from compiler.ir.extension import public_module
from compiler.topi.definitions import load_definitions

__all__ = load_definitions(globals())

__getattr__, __dir__ = public_module("tvm.topi.image", __all__)
