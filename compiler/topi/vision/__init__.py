"""``tvm.topi.vision``: bounding boxes."""

from compiler.ir.extension import public_module
from compiler.topi.definitions import load_definitions

_TOOLS = ("compaction",)
"""What several definitions are made with."""

__all__ = load_definitions(globals(), _TOOLS)

__getattr__, __dir__ = public_module("tvm.topi.vision", __all__)
