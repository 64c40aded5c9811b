"""What documentation says about an operator: a structure that editors read, and the docstring made of it."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir.attrs import REQUIRED

_WIDTH = 100
"""Columns of a generated docstring."""
_RAISES = "If an input is missing or no expression, or the value of an attribute does not fit."


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a public function, its type as documentation states it, e.g. ``int or sequence of int``."""

    name: str
    type_name: str
    doc: str
    default: object = REQUIRED

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED


@dataclass(frozen=True, slots=True)
class Documentation:
    """What documentation says about an operator's public function.

    Its parameters are inputs and attributes in the order of the call; ``returns`` is the result's shape and data type,
    and ``references`` are papers and documents that define the operator.
    """

    summary: str
    parameters: tuple[Parameter, ...]
    returns: str
    result_type: str = "Call"
    references: tuple[str, ...] = ()

    def signature(self) -> inspect.Signature:
        """Return the signature of the public function."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        empty = inspect.Parameter.empty
        return inspect.Signature(
            [inspect.Parameter(p.name, kind, default=empty if p.is_required else p.default) for p in self.parameters]
        )

    def docstring(self) -> str:
        """Return the documentation as NumPy writes it."""
        parts = [_wrapped(self.summary, "")]
        if self.parameters:
            parts.append(_section("Parameters", [(_heading(p), p.doc) for p in self.parameters]))
        parts.append(_section("Returns", [(self.result_type, self.returns)]))
        parts.append(_section("Raises", [("ArgumentError", _RAISES)]))
        if self.references:
            parts.append("References\n----------\n" + "\n".join(_wrapped(r, "") for r in self.references))
        return "\n\n".join(parts) + "\n"


def _heading(parameter: Parameter) -> str:
    if parameter.is_required or "optional" in parameter.type_name:
        return f"{parameter.name} : {parameter.type_name}"
    return f"{parameter.name} : {parameter.type_name}, default {parameter.default!r}"


def _section(title: str, entries: Sequence[tuple[str, str]]) -> str:
    lines = [title, "-" * len(title)]
    for heading, doc in entries:
        lines.append(heading)
        if doc:
            lines.append(_wrapped(doc, "    "))
    return "\n".join(lines)


def _wrapped(text: str, indent: str) -> str:
    if len(indent) + len(text) <= _WIDTH and "\n" not in text:
        return indent + text
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)
