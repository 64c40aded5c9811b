"""Messages about a program, with their places: ``tvm.ir.diagnostics``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

from compiler.ir.error import DiagnosticError

__all__ = [
    "Diagnostic",
    "DiagnosticContext",
    "DiagnosticLevel",
    "Place",
    "PlacedError",
    "override_renderer",
    "rendered",
]


class DiagnosticLevel(IntEnum):
    """How bad it is."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message belongs: a file, and a line and column of it, both counted from 1."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message.

    Attributes
    ----------
    level : DiagnosticLevel
    span : Place
    message : str
    """

    level: DiagnosticLevel
    span: Place
    message: str


@dataclass(frozen=True, slots=True)
class DiagnosticContext:
    """The messages about one program.

    Attributes
    ----------
    diagnostics : tuple of Diagnostic
    """

    diagnostics: tuple[Diagnostic, ...]


Renderer = Callable[[DiagnosticContext], None]
_overriding: list[Renderer] = []


def override_renderer(render_func: Renderer | None) -> None:
    """Let a function hear of the messages about each program that is refused.

    Parameters
    ----------
    render_func : callable or None
        Called with a :class:`DiagnosticContext` before the error is raised; None for nobody.
    """
    _overriding[:] = [] if render_func is None else [render_func]


class PlacedError(DiagnosticError):
    """A program that was refused, with the places of its faults.

    Attributes
    ----------
    diagnostics : sequence of Diagnostic
    """

    diagnostics: Sequence[Diagnostic] = ()


@contextmanager
def rendered() -> Iterator[None]:
    """Let the renderer hear of the error that leaves the block."""
    try:
        yield
    except PlacedError as error:
        for render in _overriding:
            render(DiagnosticContext(tuple(error.diagnostics)))
        raise
