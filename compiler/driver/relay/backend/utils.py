"""``tvm.relay.backend.utils``: module names in generated code, and how functions are called."""

from __future__ import annotations

from compiler.driver.relay.aot.lower_main import CallType as CallType
from compiler.ir.error import ArgumentError, show

__all__ = ["CallType", "mangle_module_name"]

_PREFIX = "tvmgen"


def mangle_module_name(mod_name: str | None) -> str:
    """Return what the names of a module's functions begin with.

    Raises
    ------
    ArgumentError
        If the name has characters that are not ASCII.
    """
    if not mod_name:
        return _PREFIX
    if not mod_name.isascii():
        raise ArgumentError(f"mangle_module_name: mod_name contains invalid characters: {show(mod_name)}")
    return f"{_PREFIX}_{mod_name}"
