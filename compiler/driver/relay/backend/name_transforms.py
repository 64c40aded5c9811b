"""Names of generated C code: ``tvm.relay.backend.name_transforms``."""

from __future__ import annotations

import re

from compiler.ir.error import ArgumentError

__all__ = [
    "prefix_generated_name",
    "prefix_name",
    "sanitize_name",
    "to_c_constant_style",
    "to_c_function_style",
    "to_c_variable_style",
]

Names = str | list[str]


def _joined(name: Names, operation: str) -> str:
    """Return the parts of a name with underscores between them."""
    joined = "_".join(name) if isinstance(name, (list, tuple)) else name
    if not joined:
        raise ArgumentError(f"{operation}: the name is empty")
    return joined


def _after_prefix(name: str, operation: str) -> tuple[str, str]:
    """Return the prefix ``TVM`` and the rest of a generated name."""
    if not name.startswith("TVM"):
        raise ArgumentError(f"{operation}: the name must begin with TVM, got {name!r}")
    return "TVM", name.removeprefix("TVM").lstrip("_")


def to_c_function_style(original_name: str) -> str:
    """Return the name of a function in C: ``TVM_my_name`` becomes ``TVMMyName``.

    Parameters
    ----------
    original_name : str
        Beginning with ``TVM``.

    Returns
    -------
    str

    Raises
    ------
    ArgumentError
        If it is empty or begins otherwise.
    """
    prefix, rest = _after_prefix(_joined(original_name, "to_c_function_style"), "to_c_function_style")
    return prefix + "".join(part[:1].upper() + part[1:] for part in rest.split("_"))


def to_c_variable_style(original_name: str) -> str:
    """Return the name of a variable in C: ``TVM_My_Name`` becomes ``tvm_my_name``.

    Parameters
    ----------
    original_name : str
        Beginning with ``TVM``.

    Returns
    -------
    str

    Raises
    ------
    ArgumentError
        If it is empty or begins otherwise.
    """
    prefix, rest = _after_prefix(_joined(original_name, "to_c_variable_style"), "to_c_variable_style")
    return f"{prefix}_{rest}".lower()


def to_c_constant_style(original_name: str) -> str:
    """Return the name of a constant in C: ``TVM_my_name`` becomes ``TVM_MY_NAME``.

    Parameters
    ----------
    original_name : str
        Beginning with ``TVM``.

    Returns
    -------
    str

    Raises
    ------
    ArgumentError
        If it is empty or begins otherwise.
    """
    prefix, rest = _after_prefix(_joined(original_name, "to_c_constant_style"), "to_c_constant_style")
    return f"{prefix}_{rest}".upper()


def prefix_name(name: Names) -> str:
    """Return a name with the prefix of user's names, ``TVM``.

    Parameters
    ----------
    name : str or list of str
        The name, or its parts.

    Returns
    -------
    str

    Raises
    ------
    ArgumentError
        If it is empty.
    """
    return f"TVM_{_joined(name, 'prefix_name')}"


def prefix_generated_name(name: Names) -> str:
    """Return a name with the prefix of generated names, ``TVMGen``.

    Parameters
    ----------
    name : str or list of str
        The name, or its parts.

    Returns
    -------
    str

    Raises
    ------
    ArgumentError
        If it is empty.
    """
    return f"TVMGen_{_joined(name, 'prefix_generated_name')}"


def sanitize_name(original_name: str) -> str:
    """Return a name with an underscore in place of each character that names in C cannot have.

    Parameters
    ----------
    original_name : str

    Returns
    -------
    str

    Raises
    ------
    ArgumentError
        If it is empty.
    """
    return re.sub(r"\W", "_", _joined(original_name, "sanitize_name"), flags=re.ASCII)
