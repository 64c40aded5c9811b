"""Source text of functions and classes, with locations: ``tvm.script.parser.core.diagnostics``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable


class Source:
    """The text of a program, and where it stands in its file.

    The program is a text, a function or class whose file is at hand, or a syntax tree. Without its indentation of
    ``start_column`` characters it is ``source``, from line ``start_line`` (counted from 1) of ``source_name`` on, which
    is ``<str>`` for a text. Raises OSError if the source of a function or class is not to be had.
    """

    def __init__(self, program: str | Callable[..., object] | type | ast.AST) -> None:
        self.start_line, self.start_column = 1, 0
        if isinstance(program, (str, ast.AST)):
            self.source_name = "<str>"
            self.source = program if isinstance(program, str) else ast.unparse(program)
            self.full_source = self.source
            return
        self.source_name = inspect.getsourcefile(program) or "<str>"
        lines, self.start_line = inspect.getsourcelines(program)
        self.start_column = len(lines[0]) - len(lines[0].lstrip())
        self.source = "".join(line[self.start_column :] if line.strip() else "\n" for line in lines)
        file_lines, _ = inspect.findsource(program)
        self.full_source = "".join(file_lines)

    def as_ast(self) -> ast.AST:
        """Parse the text.

        Raises SyntaxError if it is not Python.
        """
        return ast.parse(self.source, self.source_name)
