"""What inference says when types do not fit: everything that is wrong, each at its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir import diagnostics as diagnostics_of
from compiler.ir.error import DiagnosticError, TVMError
from compiler.ir.origin import Location, Span, active_table
from compiler.ir.types import Type
from compiler.relay.ty import TensorType

NOWHERE = diagnostics_of.Place("", 0, 0)
"""The place of what no recording knows the line of."""


class UnificationError(TVMError):
    """Two types that cannot be the same."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong with the expression of ``span``.

    ``location`` is the user's line, where a recording knows it.  ``for_renderers`` is what renderers of diagnostics are
    told, in the words of TVM's type checker; nothing for the message itself.
    """

    message: str
    span: Span
    location: Location | None
    for_renderers: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.location is None:
            return self.message
        return f"{self.location.file}:{self.location.line}: {self.message}"


class TypeInferenceError(DiagnosticError):
    """The types of a program do not fit: ``diagnostics`` is all that was found, in the order of the program."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        lines = [str(d) for d in diagnostics]
        head = "type inference: " if len(lines) == 1 else f"type inference: {len(lines)} errors\n  "
        super().__init__(head + "\n  ".join(lines))


def diagnose(message: str, span: Span, for_renderers: Sequence[str] = ()) -> Diagnostic:
    """Return a diagnostic for the expression of a span."""
    return Diagnostic(message, span, user_location(span), tuple(for_renderers))


def conflict(expected: Type, got: Type) -> list[str]:
    """Return in the words of TVM's type checker that two types differ: where, then which."""
    said = []
    if isinstance(expected, TensorType) and isinstance(got, TensorType) and expected.dtype == got.dtype:
        ranks = len(got.dims), len(expected.dims)
        pairs = list(zip(got.dims, expected.dims, strict=False))
        places = [(d, a, b) for d, (a, b) in enumerate(pairs) if isinstance(a, int) and isinstance(b, int) and a != b]
        if ranks[0] != ranks[1]:
            said.append(f"tensor type `{got}` has {ranks[0]} dimensions, while `{expected}` has {ranks[1]} dimensions")
        elif places:
            where = "  ".join(f"dimension {d} conflicts: {a} does not match {b}." for d, a, b in places)
            said.append(f"{_UNABLE}:\n  {got}\n  {expected}\nIn particular:\n  {where}")
    return [*said, f"{_UNABLE}.\nIn particular `{expected}` does not match `{got}`"]


_UNABLE = "The Relay type checker is unable to show the following types match"


def tell_renderer(diagnostics: Sequence[Diagnostic]) -> None:
    """Let the function given to ``override_renderer`` hear of the faults of a program."""
    messages = [
        diagnostics_of.Diagnostic(
            diagnostics_of.DiagnosticLevel.ERROR,
            diagnostics_of.Place(d.location.file, d.location.line, 1) if d.location else NOWHERE,
            message,
        )
        for d in diagnostics
        for message in d.for_renderers or (d.message,)
    ]
    diagnostics_of.tell(messages)


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
