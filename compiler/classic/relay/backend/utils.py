"""``tvm.relay.backend.utils``: module names in generated code, and how functions are called."""

from __future__ import annotations

from compiler.classic.relay.aot_lower_main import CallType as CallType
from compiler.driver.relay.options import mangle_module_name as mangle_module_name

__all__ = ["CallType", "mangle_module_name"]
