"""What the lines of the code are: code, imports, docstrings, comments, nothing."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.contracts.measures.sources import Source, sources

KINDS = ("code", "imports", "docstrings", "comments", "blank")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def by_folder(*packages: str) -> dict[str, Counter[str]]:
    """Return how many lines of each of ``KINDS`` each folder has, and of ``Any`` and ``type: ignore``."""
    counts: dict[str, Counter[str]] = {}
    for source in sources(*packages):
        counts.setdefault(source.folder, Counter()).update(count(source))
    return counts


def count(source: Source) -> Counter[str]:
    """Return how many lines of each kind a file has, and how often it says ``Any`` and ``type: ignore``."""
    imports = set(_lines(node for node in ast.walk(source.tree) if isinstance(node, (ast.Import, ast.ImportFrom))))
    docstrings = set(_lines(_docstrings(source.tree)))
    counts: Counter[str] = Counter()
    for number, line in enumerate(source.text.splitlines(), start=1):
        text = line.strip()
        if number in docstrings:
            counts["docstrings"] += 1
        elif number in imports:
            counts["imports"] += 1
        else:
            counts["blank" if not text else "comments" if text.startswith("#") else "code"] += 1
    counts["Any"] = sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(source.tree))
    counts["ignored"] = source.text.count("type: ignore")
    return counts


def largest_folders(*packages: str, most: int = 10) -> list[tuple[Path, int]]:
    """Return the folders with the most files directly in them."""
    files = Counter(source.path.parent for source in sources(*packages))
    return files.most_common(most)


def _docstrings(tree: ast.Module) -> Iterator[ast.Expr]:
    """Yield the docstrings, those of constants included."""
    for node in ast.walk(tree):
        body = node.body if isinstance(node, _DOCUMENTED) else []
        for statement in body:
            match statement:
                case ast.Expr(value=ast.Constant(value=str())):
                    yield statement


def _lines(nodes: Iterator[ast.stmt]) -> Iterator[int]:
    for node in nodes:
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
