"""The share of parameters whose annotation says nothing: ``Any``, or ``Any | None``."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from functools import cache

from tests.contracts.measures.sources import Function, folders, sources


@dataclass(frozen=True)
class Share:
    """``part`` of ``total``."""

    part: int
    total: int

    @property
    def percent(self) -> float:
        return 100 * self.part / self.total if self.total else 0.0


@cache
def any_shares(*packages: str) -> dict[str, Share]:
    """Return each folder's share of parameters that are annotated ``Any``, ``self`` and ``cls`` left out."""
    total: Counter[str] = Counter()
    untyped: Counter[str] = Counter()
    for source in sources(*packages):
        for function in source.functions():
            annotations = _annotations(function)
            total[source.folder] += len(annotations)
            untyped[source.folder] += sum(map(_says_nothing, annotations))
    return {folder: Share(untyped[folder], total[folder]) for folder in folders(*packages)}


def places(folder: str) -> list[str]:
    """Return where a folder's parameters are ``Any``: the file, the line, the function."""
    return [
        f"{source.at(function)} {function.name}"
        for source in sources(folder.split("/")[0])
        if source.folder == folder
        for function in source.functions()
        if any(map(_says_nothing, _annotations(function)))
    ]


def _annotations(function: Function) -> list[ast.expr | None]:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args]
    if named and named[0].arg in ("self", "cls") and named[0].annotation is None:
        named = named[1:]
    rest = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [argument.annotation for argument in (*named, *arguments.kwonlyargs, *rest)]


def _says_nothing(annotation: ast.expr | None) -> bool:
    match annotation:
        case ast.Name(id="Any") | ast.Attribute(attr="Any", value=ast.Name(id="typing")):
            return True
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _says_nothing(left)
    return False
