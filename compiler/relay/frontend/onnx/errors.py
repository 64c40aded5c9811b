"""Errors of the ONNX importer."""

from __future__ import annotations

from compiler.ir.error import ArgumentError
from compiler.relay.frontend.shared.errors import ConversionError


class UnknownInputError(ArgumentError, AssertionError):
    """A shape or data type for an input that the model does not have; TVM's importer raises an AssertionError."""


class UnsupportedOperatorError(ConversionError, NotImplementedError):
    """Unsupported operators, all of a model at once."""

    def __init__(self, operators: dict[str, list[str]]) -> None:
        self.operators = operators
        lines = [f"  {name}: {_some(nodes)}" for name, nodes in sorted(operators.items())]
        count = f"{len(operators)} operator{'s are' if len(operators) > 1 else ' is'}"
        super().__init__("\n".join([f"from_onnx: {count} not supported", *lines]))


def _some(nodes: list[str], limit: int = 5) -> str:
    shown = ", ".join(repr(name) for name in nodes[:limit])
    return shown + (f" and {len(nodes) - limit} more" if len(nodes) > limit else "")
