"""Operators of scripts on numbers and strings alone: PyTorch computes them while the model is imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from compiler.relay.frontend.shared.errors import ConversionError

__all__ = ["are_plain", "compute", "takes_plain"]

_PLAIN = frozenset({"IntType", "FloatType", "BoolType", "StringType", "NumberType", "NoneType"})


def takes_plain(schema: torch.FunctionSchema | None) -> bool:
    """Return whether an operator makes numbers or strings of such, and changes none of its arguments.

    Parameters
    ----------
    schema : torch.FunctionSchema or None
        None for the nodes that have none.
    """
    if schema is None or not schema.arguments:  # without arguments it asks for a mode of PyTorch
        return False
    values = [*schema.arguments, *schema.returns]
    return all(_is_plain(value.type) and value.alias_info is None for value in values)


def _is_plain(kind: Any) -> bool:
    if kind.kind() in ("ListType", "OptionalType"):
        return _is_plain(kind.getElementType())
    return kind.kind() in _PLAIN


def are_plain(values: Sequence[Any]) -> bool:
    """Return whether values are numbers, strings, None and lists of these, and none an expression."""
    return all(
        are_plain(value) if isinstance(value, (list, tuple)) else isinstance(value, (bool, int, float, str, type(None)))
        for value in values
    )


def compute(schema: torch.FunctionSchema, values: Sequence[Any]) -> Any:
    """Return what PyTorch makes of numbers and strings.

    Parameters
    ----------
    schema : torch.FunctionSchema
        Of an operator that takes them.
    values : sequence
        Its arguments.

    Raises
    ------
    ConversionError
        If PyTorch refuses them, as it does a division by zero.
    """
    namespace, name = schema.name.split("::")
    operator = getattr(getattr(getattr(torch.ops, namespace), name), schema.overload_name or "default")
    try:
        return operator(*values)
    except RuntimeError as exc:
        raise ConversionError(f"PyTorch cannot compute it for {', '.join(map(repr, values))}: {exc}") from exc
