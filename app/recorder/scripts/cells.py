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
from app.recorder.scripts.frames import script_lines

_HEAD = re.compile(r"# ?%%[ \t]*(.*)")
_FUTURE = reduce(or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
_MAX_TITLE = 80


def is_heading(line: str) -> bool:
    """Return whether a cell begins with a line."""
    return _HEAD.match(line) is not None


def cells_of(source: str) -> list[Cell]:
    """Return the cells of a script; none where it has no heading.

    What stands before the first heading is a cell of its own, unless it is empty; one inside of a string is no heading.
    """
    lines = script_lines(source)
    heads = [at for at, line in enumerate(lines, 1) if is_heading(line)]
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
        self._lines = script_lines(source)
        self._names = names
        self._show = show
        self._flags = 0
        self._lost: set[str] = set()  # names that cells did not come to give values

    def lacking(self, cell: Cell) -> list[str]:
        """Return the names that a cell reads and one before, which failed or did not run, would have given values.

        Such a cell is not to be run: it gives none of its own values either.
        """
        tree = self._tree(cell)
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)] if tree is not None else []
        given = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        lost = self._lost - self._names.keys()
        lacking = [name for name in dict.fromkeys(node.id for node in names) if name in lost and name not in given]
        if lacking:
            self._lost |= given
        return lacking

    def run(self, cell: Cell) -> None:
        """Run a cell; what it imports from the future holds for those that follow.

        Raises
        ------
        Exception
            What it raises, or SyntaxError.
        """
        tree = ast.parse(self._source(cell), SCRIPT_NAME)
        last = tree.body[-1] if tree.body else None
        shown = isinstance(last, ast.Expr) and not re.match(r"[ \t]*;", self._rest(last))
        try:
            exec(self._compiled(ast.Module(tree.body[:-1] if shown else tree.body, []), "exec"), self._names)
            if isinstance(last, ast.Expr) and shown:
                value = eval(self._compiled(ast.Expression(last.value), "eval"), self._names)
                if value is not None:
                    self._show(value)
        except Exception:
            stored = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
            self._lost |= {node.id for node in stored}
            raise

    def _source(self, cell: Cell) -> str:
        """Return the text of a cell, at its lines."""
        return "\n" * (cell.line - 1) + "\n".join(self._lines[cell.line - 1 : cell.end_line])

    def _tree(self, cell: Cell) -> ast.Module | None:
        try:
            return ast.parse(self._source(cell))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None  # running it will say so

    def _rest(self, statement: ast.Expr) -> str:
        """Return what stands behind a statement on its last line."""
        return self._lines[(statement.end_lineno or 1) - 1].encode()[statement.end_col_offset or 0 :].decode()

    def _compiled(self, tree: ast.Module | ast.Expression, mode: str) -> CodeType:
        code: CodeType = compile(tree, SCRIPT_NAME, mode, flags=self._flags, dont_inherit=True)
        self._flags |= code.co_flags & _FUTURE
        return code
