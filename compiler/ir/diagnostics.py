"""Diagnostics: messages about a program with source locations: ``tvm.ir.diagnostics``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

from compiler.ir.error import DiagnosticError

__all__ = [
    "Diagnostic", "DiagnosticContext", "DiagnosticLevel", "DiagnosticRenderer", "Place", "PlacedError", "get_renderer",
    "override_renderer", "rendered", "tell",
]  # fmt: skip


class DiagnosticLevel(IntEnum):
    """How bad it is."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message belongs; lines and columns are counted from 1."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message."""

    level: DiagnosticLevel
    span: Place
    message: str


class DiagnosticContext:
    """The messages about one program, collected until a renderer (:func:`get_renderer` by default) shows them."""

    def __init__(
        self, module: object = None, renderer: DiagnosticRenderer | None = None, diagnostics: Sequence[Diagnostic] = ()
    ) -> None:
        self.module = module
        self.renderer = renderer
        self.diagnostics = list(diagnostics)

    def emit(self, diagnostic: Diagnostic) -> None:
        """Add a message."""
        self.diagnostics.append(diagnostic)

    def render(self) -> None:
        """Show the messages.

        Raises DiagnosticError if one of them is an error.
        """
        (self.renderer or get_renderer()).render(self)
        errors = [d.message for d in self.diagnostics if d.level <= DiagnosticLevel.ERROR]
        if errors:
            raise DiagnosticError("\n".join(errors))

    def get_renderer(self) -> DiagnosticRenderer:
        """Return what shows the messages."""
        return self.renderer or get_renderer()


Renderer = Callable[[DiagnosticContext], None]


class DiagnosticRenderer:
    """Shows the messages of a context."""

    def __init__(self, render_func: Renderer) -> None:
        self._render = render_func

    def render(self, ctx: DiagnosticContext) -> None:
        """Show the messages of a context."""
        self._render(ctx)


_overriding: list[Renderer] = []


def override_renderer(render_func: Renderer | None) -> None:
    """Let a function have the :class:`DiagnosticContext` of each program that is refused, before the error."""
    _overriding[:] = [] if render_func is None else [render_func]


def get_renderer() -> DiagnosticRenderer:
    """Return what shows messages: the function given to :func:`override_renderer`, else one that prints them."""
    return DiagnosticRenderer(_overriding[0] if _overriding else _print)


def _print(ctx: DiagnosticContext) -> None:
    for d in ctx.diagnostics:
        place = f"{d.span.file}:{d.span.line}:{d.span.column}: " if isinstance(d.span, Place) else ""
        print(f"{place}{DiagnosticLevel(d.level).name.lower()}: {d.message}")


def tell(diagnostics: Sequence[Diagnostic]) -> None:
    """Let the function given to :func:`override_renderer` hear of messages; nobody hears where there is none."""
    for render in _overriding:
        render(DiagnosticContext(diagnostics=diagnostics))


class PlacedError(DiagnosticError):
    """A program that was refused, with the places of its faults."""

    diagnostics: Sequence[Diagnostic] = ()


@contextmanager
def rendered() -> Iterator[None]:
    """Let the renderer hear of the PlacedError that leaves the block.  Raises PlacedError: that error."""
    try:
        yield
    except PlacedError as error:
        tell(error.diagnostics)
        raise
