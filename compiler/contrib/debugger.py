"""Executors that measure: ``tvm.contrib.debugger``."""

from compiler.runtime import debug_executor

__all__ = ["debug_executor"]
