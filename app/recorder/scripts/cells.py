"""Scripts in cells, each of which begins with a comment ``# %%``: they run in order, in one session."""

from __future__ import annotations
import __future__

import ast
import re
from collections.abc import Callable
from functools import reduce
from operator import or_
from types import CodeType

from app.artifacts import MAX_CELLS, SCRIPT_NAME, Cell

_HEAD = re.compile(r"# ?%%[ \t]*(.*)")
_FUTURE = reduce(or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
_MAX_TITLE = 80


def cells_of(source: str) -> list[Cell]:
    """Return the cells of a script; none where it has no heading.

    What stands before the first heading is a cell of its own, unless it is empty; one inside of a string is no heading.
    """
    lines = source.splitlines()
    heads = [at for at, line in enumerate(lines, 1) if _HEAD.match(line)]
    if not heads:
        return []
    starts = [1, *heads] if any(line.strip() for line in lines[: heads[0] - 1]) else heads
    spans = list(zip(starts, [*(start - 1 for start in starts[1:]), len(lines)], strict=True))
    parts = ["\n".join(lines[start - 1 : end]) for start, end in spans]
    if len(spans) > MAX_CELLS or (_parses(source) and not all(map(_parses, parts))):
        return []
    return [Cell(title=_title(lines[start - 1]), line=start, end_line=end) for start, end in spans]


def _title(line: str) -> str:
    head = _HEAD.match(line)
    return head[1].strip()[:_MAX_TITLE] if head else ""


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


class CellRunner:
    """Runs the cells of a script one by one, as an interactive interpreter does.

    Parameters
    ----------
    names : dict
        Their global names.
    show : callable
        Takes the value of a cell's last statement, if that is an expression and not None.
    """

    def __init__(self, source: str, names: dict[str, object], show: Callable[[object], None]) -> None:
        self._lines = source.splitlines(keepends=True)
        self._names = names
        self._show = show
        self._flags = 0

    def run(self, cell: Cell) -> None:
        """Run a cell; what it imports from the future holds for those that follow."""
        source = "\n" * (cell.line - 1) + "".join(self._lines[cell.line - 1 : cell.end_line])
        tree = ast.parse(source, SCRIPT_NAME)
        last = tree.body[-1] if tree.body else None
        shown = isinstance(last, ast.Expr) and not re.match(r"[ \t]*;", _rest(source, last))
        exec(self._compiled(ast.Module(tree.body[:-1] if shown else tree.body, []), "exec"), self._names)
        if isinstance(last, ast.Expr) and shown:
            value = eval(self._compiled(ast.Expression(last.value), "eval"), self._names)
            if value is not None:
                self._show(value)

    def _compiled(self, tree: ast.Module | ast.Expression, mode: str) -> CodeType:
        code: CodeType = compile(tree, SCRIPT_NAME, mode, flags=self._flags, dont_inherit=True)
        self._flags |= code.co_flags & _FUTURE
        return code


def _rest(source: str, statement: ast.Expr) -> str:
    """Return what stands behind a statement on its last line."""
    line = source.splitlines()[(statement.end_lineno or 1) - 1]
    return line.encode()[statement.end_col_offset or 0 :].decode()
