"""Functions and files that are too long to be read at one go."""

from __future__ import annotations

import ast

from tests.contracts.measures.sources import Function, sources

MAX_FUNCTION_LINES = 46
MAX_FILE_LINES = 560


def long_functions(*packages: str) -> list[str]:
    """Return the functions longer than ``MAX_FUNCTION_LINES``, their docstrings not counted."""
    return [
        f"{source.at(function)} {function.name}: {code_lines(function)} lines"
        for source in sources(*packages)
        for function in source.functions()
        if code_lines(function) > MAX_FUNCTION_LINES
    ]


def long_files(*packages: str) -> list[str]:
    """Return the files longer than ``MAX_FILE_LINES``."""
    return [f"{s.path}: {s.lines} lines" for s in sources(*packages) if s.lines > MAX_FILE_LINES]


def code_lines(function: Function) -> int:
    """Return how many lines a function has without its docstring."""
    length = (function.end_lineno or function.lineno) - function.lineno + 1
    match function.body[0]:
        case ast.Expr(value=ast.Constant(value=str())) as docstring:
            return length - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)
    return length
