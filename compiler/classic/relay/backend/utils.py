"""``tvm.relay.backend.utils``: module names in generated code."""

from __future__ import annotations

from compiler.driver.relay.options import mangle_module_name as mangle_module_name

__all__ = ["mangle_module_name"]
