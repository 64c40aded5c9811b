"""``tvm.runtime.executor``."""

from __future__ import annotations

from compiler.runtime import aot_executor
from compiler.runtime.aot_executor import AotModule

__all__ = ["AotModule", "aot_executor"]
