"""Source text of TVMScript programs, and errors that show the user's line."""

from __future__ import annotations

import ast
import gc
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from compiler.ir.diagnostics import Diagnostic, DiagnosticLevel, Place, PlacedError
from compiler.ir.error import ArgumentError, show
from compiler.ir.lazy_attribute import lazy_attribute
from compiler.ir.origin import Location


@contextmanager
def without_collections() -> Iterator[None]:
    """Pause Python's garbage collector: all that is read lives on, and looking through it takes half of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class ScriptError(PlacedError):
    """A program that is not TVMScript, or not of the part of it that this IR has.

    The file is ``<script>`` for a program that was given as a string; line and column are counted from 1.
    """

    def __init__(self, message: str, file: str, line: int, column: int, text: str) -> None:
        self.file, self.line, self.column = file, line, column
        self.diagnostics = (Diagnostic(DiagnosticLevel.ERROR, Place(file, line, column), message),)
        super().__init__(f"{file}:{line}: {message}\n  {text}\n  {' ' * (column - 1)}^")


@dataclass(frozen=True)
class Source:
    """The text of a program, and where it stands in the user's file."""

    tree: ast.Module  # the parsed text; positions in it are those of the text
    text: str  # without the indentation that all lines have in common
    file: str = "<script>"
    first_line: int = 1  # number of the text's first line in the file
    indent: int = 0  # how many columns were taken off each line

    @staticmethod
    def of_text(text: str) -> Source:
        """Parse a program that is given as a string."""
        return _parsed(text, "<script>", 1)

    @staticmethod
    def of_object(program: Callable[..., object] | type) -> Source:
        """Parse a function or class where the user's file defines it."""
        try:
            lines, first = inspect.getsourcelines(program)
            file = inspect.getsourcefile(program) or "<script>"
        except (OSError, TypeError):
            raise ArgumentError(f"script: the source of {show(program)} cannot be found; use from_source") from None
        return _parsed("".join(lines), file, max(first, 1))

    def location(self, n: ast.AST) -> Location:
        """Return where a part of the program stands in the user's file."""
        line: int = getattr(n, "lineno", 1)
        end: int = getattr(n, "end_lineno", None) or line
        column: int = getattr(n, "col_offset", 0)
        end_column: int = getattr(n, "end_col_offset", None) or column
        above = self.first_line - 1
        return Location(self.file, line + above, column + self.indent, end + above, end_column + self.indent)

    def line(self, n: ast.AST) -> str:
        """Return the line that a part of the program begins on."""
        number = getattr(n, "lineno", 1)
        return self._lines[number - 1] if number <= len(self._lines) else ""

    @lazy_attribute
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    def error(self, n: ast.AST, message: str) -> ScriptError:
        """Return the error about a part of the program."""
        at = self.location(n)
        return ScriptError(message, at.file, at.line, getattr(n, "col_offset", 0) + 1, self.line(n))


def _parsed(text: str, file: str, first_line: int) -> Source:
    dedented = textwrap.dedent(text)
    indent = len(text) - len(text.lstrip()) - (len(dedented) - len(dedented.lstrip()))
    try:
        tree = ast.parse(dedented)
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        shown = (error.text or "").rstrip("\n")
        raise ScriptError(f"not Python: {error.msg}", file, first_line + line - 1, column, shown) from None
    except (RecursionError, MemoryError, ValueError) as error:
        message = "the program is nested too deeply, or too large" if str(error) == "" else str(error)
        raise ScriptError(f"not Python: {message}", file, first_line, 1, text[:80]) from None
    return Source(tree, dedented, file, first_line, indent)
