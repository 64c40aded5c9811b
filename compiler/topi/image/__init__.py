"""``tvm.topi.image``: image resizing and sampling."""

from typing import Any

from compiler.ir.extension import public_module
from compiler.topi.definitions import load_definitions

__all__ = load_definitions(globals())

_load, __dir__ = public_module("tvm.topi.image", __all__)


def __getattr__(name: str) -> Any:
    return _load(name)
