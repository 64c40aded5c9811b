"""TOPI: operators as tensor expressions, with schedules per target: ``tvm.topi``.

The package exports what its modules list in ``__all__``, and the compute definitions that Relay operators register.
"""

from compiler.ir.extension import public_module
from compiler.topi import generic, image, math, nn, random, sparse, tag, utils, vision
from compiler.topi.definitions import load_definitions
from compiler.topi.generic import schedule_injective, schedule_reduce

_TOOLS = ("compute", "definitions", "layout", "operands", "schedules")
"""Modules of helpers, which export nothing."""

__all__ = [
    "generic", "image", "math", "nn", "random", "schedule_injective", "schedule_reduce", "sparse", "tag", "utils",
    "vision",
]  # fmt: skip
__all__ += load_definitions(globals(), (*__all__, *_TOOLS))

__getattr__, __dir__ = public_module("tvm.topi", __all__)
