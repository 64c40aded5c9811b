"""What inference says when types do not fit: everything that is wrong, each at its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir.error import DiagnosticError, TVMError
from compiler.ir.origin import Location, Span, active_table

__all__ = [
    "Diagnostic",
    "TypeInferenceError",
    "UnificationError",
    "diagnose",
    "user_location",
]


class UnificationError(TVMError):
    """Two types that cannot be the same."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong.

    Attributes
    ----------
    message : str
    span : Span
        Of the expression that it is about.
    location : Location or None
        The user's line, where a recording knows it.
    """

    message: str
    span: Span
    location: Location | None

    def __str__(self) -> str:
        if self.location is None:
            return self.message
        return f"{self.location.file}:{self.location.line}: {self.message}"


class TypeInferenceError(DiagnosticError):
    """The types of a program do not fit.

    Attributes
    ----------
    diagnostics : tuple of Diagnostic
        All that was found, in the order of the program.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        lines = [str(d) for d in diagnostics]
        head = "type inference: " if len(lines) == 1 else f"type inference: {len(lines)} errors\n  "
        super().__init__(head + "\n  ".join(lines))


def diagnose(message: str, span: Span) -> Diagnostic:
    """Return a diagnostic for the expression of a span."""
    return Diagnostic(message, span, user_location(span))


def user_location(span: Span) -> Location | None:
    """Return the user's line that a span comes from, the most specific one that the recording knows."""
    table = active_table()
    if table is None:
        return None
    seen: set[int] = set()
    level = sorted(span)
    while level:
        for row in level:
            origin = table.rows[row]
            if origin.location is not None and origin.level == "source":
                return origin.location
        seen.update(level)
        level = sorted({parent for row in level for parent in table.rows[row].parents} - seen)
    return None
