"""``tvm.runtime.executor``."""

from __future__ import annotations

from compiler.runtime.graph import aot_executor
from compiler.runtime.graph.aot_executor import AotModule

__all__ = ["AotModule", "aot_executor"]
