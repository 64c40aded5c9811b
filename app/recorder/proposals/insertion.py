"""Insertion points in a script, by its syntax tree."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.proposals import MAX_EDIT, MAX_REMOVED, Edit
from app.recorder.scripts.frames import script_lines
from compiler.ir.error import TVMError

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class _Gap:
    """A place between statements: after a line, indented as its neighbours."""

    after: int
    indent: int


class ScriptText:
    """A script that ran, and the place where it lowers the function that is shown.

    Parameters
    ----------
    lowered : int or None
        The line that lowers the function; None if the script does not.
    """

    def __init__(self, source: str, lowered: int | None) -> None:
        self._source = source
        self._lines = script_lines(source)
        self._lowered = lowered
        self._tree = ast.parse(source)
        self._body = _scope_body(self._tree, lowered)
        self._names = {name for node in (self._tree, *self._body) for name in _names(node)}

    @property
    def lowers(self) -> bool:
        """Whether the script lowers the function itself."""
        return self._lowered is not None

    def is_free(self, name: str) -> bool:
        """Return whether the script has no variable of this name, and may have one."""
        return name not in self._names and name.isidentifier() and not keyword.iskeyword(name)

    def insertion(self, statements: Sequence[str], lines: Iterable[int], variables: Collection[str]) -> Edit:
        """Return the edit that writes statements after others and before the function is lowered.

        Parameters
        ----------
        lines : iterable of int
            Lines of the primitives that it follows.
        variables : collection of str
            Names that it reads, which must have their values before.

        Raises
        ------
        TVMError
            If there is no such place, since all of it is one statement.
        """
        gap = self._gap(self._body, {*lines, *self._bindings(variables)})
        return Edit(line=gap.after + 1, text="\n".join(" " * gap.indent + statement for statement in statements))

    def replacement(self, text: str, line: int) -> Edit | None:
        """Return the edit that writes another statement for that on a line, or None if it shares its lines."""
        for statement in _statements(self._body):
            first, last = _span(statement)
            if first <= line <= last and isinstance(statement, ast.Expr):
                alone = not self._lines[first - 1][: statement.col_offset].strip()
                rest = self._lines[last - 1].encode()[statement.end_col_offset or 0 :].decode().strip()
                indent = " " * statement.col_offset
                written = indent + text + (f"  {rest}" if rest else "")
                edit = Edit(line=first, removed=last - first + 1, text=written, instead=ast.unparse(statement))
                return edit if alone and (not rest or rest.startswith("#")) else None
        return None

    def instead(self, edit: Edit, line: int) -> Edit:
        """Return an insertion that also removes the statement on an earlier line, whose place it takes.

        Parameters
        ----------
        edit : Edit
            As in :meth:`insertion`.

        Returns
        -------
        Edit
            The insertion alone where the statement is not one of the schedule's own lines, with nothing beside it.
        """
        for statement in self._body:
            first, last = _span(statement)
            if not (first <= line <= last < edit.line and isinstance(statement, ast.Expr)):
                continue
            source = "\n".join(self._lines[first - 1 : last])
            text = "\n".join([*self._lines[last : edit.line - 1], edit.text])
            alone = source.strip() == ast.get_source_segment(self._source, statement)
            removed = edit.line - first
            if alone and removed <= MAX_REMOVED and len(text) <= MAX_EDIT:
                return Edit(line=first, removed=removed, text=text, instead=ast.unparse(statement))
        return edit

    def _bindings(self, variables: Collection[str]) -> Iterator[int]:
        """Yield the last lines that give some variables their values, as far as they come before the lowering."""
        for statement in self._body:
            if self._lowered is not None and _span(statement)[0] >= self._lowered:
                return
            for node in _own_nodes(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in variables:
                    yield node.lineno

    def _gap(self, body: Sequence[ast.stmt], required: Collection[int]) -> _Gap:
        lowering = [s for s in body if self._lowered is not None and _contains(s, {self._lowered})]
        end = lowering[0] if lowering else None
        before = body[: body.index(end)] if end is not None else body
        if end is not None and _contains(end, required):
            inner = [block for block in _blocks(end) if any(_contains(s, {self._lowered or 0}) for s in block)]
            if not inner:
                raise TVMError(f"line {end.lineno} schedules and lowers in one statement; split it into several")
            return self._gap(inner[0], required)
        called = {s.name for s in before if isinstance(s, _FUNCTIONS) and _contains(s, required)}
        needed = [s for s in before if _contains(s, required) or called & set(_names(s))]
        if needed:
            last = needed[-1]
            after = _span(last)[1]
            if end is not None and after >= _span(end)[0]:
                raise TVMError(f"line {after} has several statements; put each on its own line")
            line = self._lines[_span(last)[0] - 1]
            return _Gap(after, len(line) - len(line.lstrip()))
        if end is not None:
            return _Gap(_span(end)[0] - 1, end.col_offset)
        raise TVMError("the function that creates the schedule does not lower it")


def _scope_body(tree: ast.Module, line: int | None) -> Sequence[ast.stmt]:
    """Return the statements of the innermost function around a line, else of the module."""
    body: Sequence[ast.stmt] = tree.body
    while line is not None:
        inside = (node for node in _statements(body) if isinstance(node, _FUNCTIONS) and _contains(node, {line}))
        function = next(inside, None)
        if function is None:
            break
        body = function.body
    return body


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements and those inside of them."""
    for statement in body:
        yield from (node for node in ast.walk(statement) if isinstance(node, ast.stmt))


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a script uses; those that belong to a function of it are nobody else's."""
    if isinstance(node, ast.Name):
        yield node.id
    own = {arg.arg for arg in node.args.args} if isinstance(node, (ast.Lambda, *_FUNCTIONS)) else set()
    if isinstance(node, _FUNCTIONS):
        yield node.name
        inside = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name)]
        own |= {inner.id for inner in inside if isinstance(inner.ctx, ast.Store)}
    for child in ast.iter_child_nodes(node):
        yield from (name for name in _names(child) if name not in own)


def _own_nodes(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement that belong to the same scope."""
    yield statement
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
            yield from _own_nodes(child)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list) and block:
            yield block


def _span(statement: ast.stmt) -> tuple[int, int]:
    """Return the first and the last line of a statement, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)]), statement.end_lineno or statement.lineno


def _contains(statement: ast.stmt, lines: Collection[int]) -> bool:
    first, last = _span(statement)
    return any(first <= line <= last for line in lines)
