"""Operators as tensor expressions, with their schedules by target: ``tvm.topi``.

What a module names in its ``__all__`` is exported here; operators of graphs whose definition stands beside their row
add theirs.
"""

from typing import Any

from compiler.ir.extension import public_module
from compiler.topi import generic, nn, tag, x86
from compiler.topi.definitions import load_definitions

_NAMESPACES = ("generic", "nn", "tag", "x86")
"""Modules that programs reach under their own names."""
_TOOLS = ("compute", "definitions", "layout", "schedules", "util")
"""Modules that definitions are made with."""

__all__ = ["generic", "nn", "tag", "x86", *load_definitions(globals(), (*_NAMESPACES, *_TOOLS))]

_load, __dir__ = public_module("tvm.topi", __all__)


def __getattr__(name: str) -> Any:
    return _load(name)
