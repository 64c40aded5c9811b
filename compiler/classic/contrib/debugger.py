"""``tvm.contrib.debugger``: profiling executors."""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.runtime.graph import debug_executor

__all__ = ["debug_executor"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.contrib.debugger", __all__)
