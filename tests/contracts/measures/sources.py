"""The project's Python files, parsed once, by folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

IMPORTERS = ("compiler", "relay", "frontend")

CORE, ANNEX = PARTS = ("core", "annex")
"""The compiler in two: what works, and what is there only because TVM has the name."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """A parsed file."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def folder(self) -> str:
        """The folder under a package that the file is in."""
        return folder_of(self.path)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    def functions(self) -> Iterator[Function]:
        """Yield every function and method, nested ones included."""
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield node

    def at(self, node: ast.stmt | ast.expr) -> str:
        return f"{self.path}:{node.lineno}"


def folder_of(path: Path) -> str:
    """Return the folder under a package that a file is in, such as ``compiler/te``; the package for its own files.

    The importers of models are folders of their own.
    """
    parts = path.parts
    if parts[:3] == IMPORTERS and len(parts) > 4:
        return "/".join(parts[:4])
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def part_of(path: Path) -> str:
    """Return which of ``PARTS`` a file or folder of the compiler is in."""
    return ANNEX if path.parts[:2] == ("compiler", "classic") else CORE


def folders(*packages: str) -> list[str]:
    """Return the folders of packages, without reading their files."""
    return sorted({folder_of(path.relative_to(ROOT)) for path in _files(*packages)})


def _files(*packages: str) -> list[Path]:
    found = (path for package in packages for path in (ROOT / package).rglob("*.py"))
    return sorted(path for path in found if not path.name[:2].isdigit())


@cache
def sources(*packages: str) -> tuple[Source, ...]:
    """Return the files under the folders ``packages``, without the gallery's programs, which are users' code."""
    return tuple(_parse(path) for path in _files(*packages))


def _parse(path: Path) -> Source:
    return Source(path.relative_to(ROOT), path.read_text(), parsed(path))


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text())
