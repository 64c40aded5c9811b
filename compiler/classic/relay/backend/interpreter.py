"""``tvm.relay.backend.interpreter``: the interpreter's values."""

from __future__ import annotations

from compiler.driver.relay.executor import Executor
from compiler.relay.interpreter import ConstructorValue, Interpreter, RefValue

__all__ = ["ConstructorValue", "Executor", "Interpreter", "RefValue"]
