"""TVMScript printing of constants, types and variable declarations."""

from __future__ import annotations

import math

from compiler.ir.expr.primexpr import SizeVar, Var
from compiler.ir.types import PointerType, Type


def int_text(value: int, dtype: str, usual: str = "int32") -> str:
    """Return an integer constant; only one of the usual type needs to say no type."""
    if dtype == usual:
        return str(value)
    if dtype == "bool":
        return f"T.bool({bool(value)})"
    return f"T.{dtype}({value})"


def float_text(value: float) -> str:
    """Return a number that reads back as the same float64; what is not finite is a string."""
    if not math.isfinite(value):
        return f'"{value}"'
    if value == math.trunc(value):
        return f"{value:.1f}"
    return f"{value:.17g}"


def string_text(value: str) -> str:
    """Return a string literal in double quotes."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def declaration_text(var: Var) -> str:
    """Return the call that declares a free variable."""
    text = handle_text(var)
    if text.endswith(")"):
        return text
    return f"{text}(is_size_var=True)" if isinstance(var, SizeVar) else f"{text}()"


def handle_text(var: Var) -> str:
    """Return the type of a pointer variable as a call of ``T.handle``, or of its data type."""
    kind = var.type_annotation
    return type_text(kind) if isinstance(kind, PointerType) and var.dtype == "handle" else f"T.{var.dtype}"


def type_text(kind: Type) -> str:
    """Return a type as a call of ``T.handle``, or as a data type."""
    if not isinstance(kind, PointerType):
        return f"T.{getattr(kind, 'dtype', 'handle')}"
    scope = f', "{kind.storage_scope}"' if kind.storage_scope else ""
    return f'T.handle("{kind.element_type.dtype}"{scope})'
