"""``tvm.contrib.debugger``: profiling executors."""

from typing import TYPE_CHECKING

from compiler.classic.runtime import debug_executor
from compiler.ir.extension import public_module

__all__ = ["debug_executor"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.contrib.debugger", __all__)
