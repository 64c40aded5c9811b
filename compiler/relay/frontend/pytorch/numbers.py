"""Script operators on numbers and strings, which PyTorch evaluates during import."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from compiler.relay.frontend.pytorch.values import TorchValue
from compiler.relay.frontend.shared.errors import ConversionError

_PLAIN = frozenset({"IntType", "FloatType", "BoolType", "StringType", "NumberType", "NoneType"})


def takes_plain(schema: torch.FunctionSchema | None) -> bool:
    """Return whether an operator is a pure function of numbers and strings; some nodes have no schema."""
    if schema is None or not schema.arguments:  # without arguments it queries a mode of PyTorch
        return False
    values = [*schema.arguments, *schema.returns]
    return all(_is_plain(value.type) and value.alias_info is None for value in values)


def _is_plain(kind: torch.JitType) -> bool:
    if kind.kind() in ("ListType", "OptionalType"):
        return _is_plain(kind.getElementType())
    return kind.kind() in _PLAIN


def are_plain(values: Sequence[TorchValue]) -> bool:
    """Return whether values are numbers, strings, None or lists of them, without expressions."""
    return all(
        are_plain(value) if isinstance(value, (list, tuple)) else isinstance(value, (bool, int, float, str, type(None)))
        for value in values
    )


def compute(schema: torch.FunctionSchema, values: Sequence[TorchValue]) -> TorchValue:
    """Evaluate an operator on numbers and strings with PyTorch."""
    namespace, name = schema.name.split("::")
    operator = getattr(getattr(getattr(torch.ops, namespace), name), schema.overload_name or "default")
    try:
        result: TorchValue = operator(*values)
        return result
    except RuntimeError as exc:
        raise ConversionError(f"PyTorch cannot compute it for {', '.join(map(repr, values))}: {exc}") from exc
