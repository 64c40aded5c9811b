"""The names that a script's statements give values to, and the expressions that these values come from."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Mod: "mod",
    ast.FloorDiv: "floor_divide", ast.Pow: "power",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call ends in the script, and the last part of what it calls: calls inside of it end earlier.

    The line is 1-based, the column counts bytes; an operator is called by the name of its function.
    """

    line: int
    column: int
    function: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """A statement that gives names to values.

    Attributes
    ----------
    line : int
        Where it ends.
    names : tuple of str
        The names; several are given the elements of the value.
    is_tuple : bool
        Whether the value is taken apart, even if into one name.
    place : Place or None
        Of the call that makes the value.
    lasting : bool
        Whether the variables still have these values at the end: nothing else gives the names a value, and no loop
        does so again.
    """

    line: int
    names: tuple[str, ...]
    is_tuple: bool
    place: Place | None
    lasting: bool


def assignments(source: str) -> list[Assignment]:
    """Return the assignments of a script in order; none if it is no Python or too deeply nested."""
    try:
        reader = _Reader()
        reader.visit(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # no Python, or nested deeper than is visited
        return []
    again = {name for name, count in reader.stores.items() if count > 1}
    return [_plain(found, again) for found in reader.found]


@dataclass(frozen=True, slots=True)
class _Found:
    statement: ast.stmt
    names: tuple[str, ...]
    is_tuple: bool
    value: ast.expr
    once: bool


def _plain(found: _Found, again: set[str]) -> Assignment:
    line = found.statement.end_lineno or found.statement.lineno
    lasting = found.once and again.isdisjoint(found.names)
    return Assignment(line, found.names, found.is_tuple, _place(found.value), lasting)


def _place(value: ast.expr) -> Place | None:
    match value:
        case ast.Call(func=ast.Attribute(attr=function)) | ast.Call(func=ast.Name(id=function)):
            pass
        case ast.BinOp(op=operator):
            function = _OPERATORS.get(type(operator), "")
        case _:
            return None
    if value.end_lineno is None or value.end_col_offset is None:
        return None
    return Place(value.end_lineno, value.end_col_offset, function)


class _Reader(ast.NodeVisitor):
    """Collects assignments, and how often something gives each name of the module a value."""

    def __init__(self) -> None:
        self.found: list[_Found] = []
        self.stores: Counter[str] = Counter()
        self._inner = 0
        """How many functions, classes and loops are around."""

    def visit_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) == 1:
            self._assign(node, node.targets[0], node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assign(node, node.target, node.value)
        self.generic_visit(node)

    def _assign(self, statement: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(id=name), _:
                self.found.append(_Found(statement, (name,), False, value, not self._inner))
            case (ast.Tuple(elts=targets), ast.Tuple(elts=values)) if len(targets) == len(values):
                for one, its in zip(targets, values, strict=True):
                    self._assign(statement, one, its)
            case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), _):
                names = tuple(_names(targets))
                if len(names) == len(targets):
                    self.found.append(_Found(statement, names, True, value, not self._inner))

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.stores[node.id] += 1

    def _visit_scope(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self.stores[node.name] += 1
        outer, self.stores = self.stores, Counter()
        self._visit_inner(node)
        self.stores = outer + Counter(_shared(node))

    def _visit_inner(self, node: ast.AST) -> None:
        self._inner += 1
        self.generic_visit(node)
        self._inner -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_scope
    visit_For = visit_AsyncFor = visit_While = _visit_inner

    def visit_alias(self, node: ast.alias) -> None:
        self.stores[(node.asname or node.name).partition(".")[0]] += 1

    def visit_ExceptHandler(self, node: ast.ExceptHandler | ast.MatchAs) -> None:
        self.stores[node.name or ""] += 1
        self.generic_visit(node)

    visit_MatchAs = visit_ExceptHandler


def _names(targets: list[ast.expr]) -> Iterator[str]:
    return (target.id for target in targets if isinstance(target, ast.Name))


def _shared(function: ast.AST) -> Iterator[str]:
    """Yield the names that a function shares with the module, each as often as if it gave it two values."""
    for node in ast.walk(function):
        if isinstance(node, ast.Global):
            yield from (*node.names, *node.names)
