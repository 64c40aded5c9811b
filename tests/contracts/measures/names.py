"""Names that say nothing, and one word in two spellings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.contracts.measures.sources import Source, sources

EMPTY_NAMES = ("found",)
"""Names of local variables that could stand for anything; the thing has a name."""

_LIMIT = re.compile(r"_?(MOST_\w+|\w+_MOST)$")


def empty_names(*packages: str) -> list[str]:
    """Return where a variable is called by one of ``EMPTY_NAMES``."""
    return [
        f"{source.at(node)} {node.id}"
        for source in sources(*packages)
        for node in _assigned(source.tree)
        if node.id in EMPTY_NAMES
    ]


def odd_limits(*packages: str) -> list[str]:
    """Return the limits that are not called ``MAX_X``."""
    return [place for source in sources(*packages) for place in limits_in(source)]


def limits_in(source: Source) -> list[str]:
    """Return the limits of one file that are not called ``MAX_X``."""
    return [f"{source.at(node)} {node.id}" for node in _assigned(source.tree) if _LIMIT.match(node.id)]


def _assigned(tree: ast.Module) -> Iterator[ast.Name]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node
