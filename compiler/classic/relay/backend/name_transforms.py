"""``tvm.relay.backend.name_transforms``: names in generated C code."""

from __future__ import annotations

import re

from compiler.ir.error import ArgumentError

__all__ = [
    "prefix_generated_name", "prefix_name", "sanitize_name", "to_c_constant_style", "to_c_function_style",
    "to_c_variable_style",
]  # fmt: skip

Names = str | list[str]


def _joined(name: Names, operation: str) -> str:
    """Return the parts of a name with underscores between them."""
    if isinstance(name, str):
        return _checked(name, operation, "Name")
    if not name:
        raise ArgumentError(f"{operation}: Name segments empty")
    return "_".join(_checked(segment, operation, "Name segment") for segment in name)


def _checked(name: str, operation: str, kind: str) -> str:
    if not name:
        raise ArgumentError(f"{operation}: {kind} is empty")
    return name


def _generated(name: str, operation: str, kind: str) -> str:
    """Return a name that begins with ``TVM``."""
    if not _checked(name, operation, f"{kind} name").startswith("TVM"):
        raise ArgumentError(f"{operation}: {kind} not TVM prefixed: {name!r}")
    return name


def to_c_function_style(original_name: str) -> str:
    """Return the name of a function in C: ``TVM_my_name`` becomes ``TVMMyName``."""
    prefix, *parts = _generated(original_name, "to_c_function_style", "Function").split("_")
    return prefix + "".join(part.capitalize() for part in parts)


def to_c_variable_style(original_name: str) -> str:
    """Return the name of a variable in C: ``TVM_My_Name`` becomes ``tvm_my_name``."""
    return _generated(original_name, "to_c_variable_style", "Variable").lower()


def to_c_constant_style(original_name: str) -> str:
    """Return the name of a constant in C: ``TVM_my_name`` becomes ``TVM_MY_NAME``."""
    return _generated(original_name, "to_c_constant_style", "Constant").upper()


def prefix_name(name: Names) -> str:
    """Return a name with the prefix of user's names, ``TVM``."""
    return f"TVM_{_joined(name, 'prefix_name')}"


def prefix_generated_name(name: Names) -> str:
    """Return a name with the prefix of generated names, ``TVMGen``."""
    return f"TVMGen_{_joined(name, 'prefix_generated_name')}"


def sanitize_name(original_name: str) -> str:
    """Return a name with an underscore in place of each character that names in C cannot have."""
    return re.sub(r"\W", "_", _joined(original_name, "sanitize_name"), flags=re.ASCII)
