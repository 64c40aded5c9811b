"""Puts everything that is installed under one package: a build hook of Hatchling.

In the repository, ``app`` and ``compiler`` are packages of their own, beside ``static`` and ``templates``.  Installed,
other projects' packages of those names must not be hit::

    app/server.py  compiler/te/…  templates/…  ->  strata_explorer/{app/server.py, compiler/te/…, templates/…}

so that imports, and names of modules in strings, are renamed on the way: ``compiler.te`` is
``strata_explorer.compiler.te``.  An editable installation keeps the repository as it is, with ``strata_explorer`` as
a package that leads to it.
"""

from __future__ import annotations

import ast
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "strata_explorer"
CODE = ("app", "compiler")
BESIDE = ("README.md", "static", "templates")
OWN = Path("app/deployment/strata_explorer")
OWN_MODULES = ("__init__.py", "__main__.py", "sphinx.py")
"""The modules of the package itself."""

_OURS = re.compile(rf"(?:{'|'.join(CODE)})\b")
_NAME = re.compile(rf"(?:{'|'.join(CODE)})\.[\w.:]*\Z")
"""What a string holds that names a module, or begins the names of some."""

Insertion = tuple[int, int, str]
"""Line from 1, column in bytes, text."""


class Packaging(BuildHookInterface[Any]):
    """Hatchling calls it before it writes a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say which files the wheel has."""
        root = Path(self.root)
        self._folder = Path(tempfile.mkdtemp(prefix="strata-wheel-"))
        if version == "editable":
            for name in OWN_MODULES:
                build_data["force_include_editable"][str(root / OWN / name)] = f"{PACKAGE}/{name}"
            return
        stage(root, self._folder)
        build_data["force_include"][str(self._folder)] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was prepared."""
        shutil.rmtree(self._folder, ignore_errors=True)


def stage(root: Path, folder: Path) -> None:
    """Copy what is installed into a folder, the code with its modules renamed.

    Raises
    ------
    ValueError
        If a module says something that cannot be renamed.
    """
    unwanted = shutil.ignore_patterns("__pycache__", OWN.name, Path(__file__).name)
    for name in (*CODE, *BESIDE):
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name, ignore=unwanted)
        else:
            shutil.copy(root / name, folder / name)
    for name in OWN_MODULES:
        shutil.copy(root / OWN / name, folder / name)
    for file in folder.rglob("*.py"):
        file.write_text(renamed(file.read_text(encoding="utf-8"), str(file.relative_to(folder))), encoding="utf-8")


def renamed(source: str, file: str = "") -> str:
    """Return a module's source with this project's modules under :data:`PACKAGE`.

    >>> renamed('from compiler.te import compute')
    'from strata_explorer.compiler.te import compute'
    >>> renamed('import compiler')
    'from strata_explorer import compiler'
    >>> renamed('HOME = "app.server"')
    'HOME = "strata_explorer.app.server"'
    """
    lines = [line.encode() for line in source.split("\n")]
    for line, column, text in sorted(_insertions(ast.parse(source), lines, file), reverse=True):
        before = lines[line - 1]
        lines[line - 1] = before[:column] + text.encode() + before[column:]
    return b"\n".join(lines).decode()


def _insertions(tree: ast.Module, lines: list[bytes], file: str) -> Iterator[Insertion]:
    nodes = list(ast.walk(tree))
    described = {
        id(n.body[0].value)
        for n in nodes
        if isinstance(n, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and n.body
        and isinstance(n.body[0], ast.Expr)
    }
    inside = {id(part) for n in nodes if isinstance(n, ast.JoinedStr) for part in n.values}
    for n in nodes:
        if isinstance(n, ast.ImportFrom) and n.level == 0 and _OURS.match(n.module or ""):
            yield n.lineno, n.col_offset + len("from "), f"{PACKAGE}."
        elif isinstance(n, ast.Import) and any(_OURS.match(name.name) for name in n.names):
            if len(n.names) > 1 or "." in n.names[0].name:
                raise ValueError(f"{file}, line {n.lineno}: import one module, as `from package import module`")
            yield n.lineno, n.col_offset, f"from {PACKAGE} "
        elif isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in described:
            if not _NAME.match(n.value):
                continue
            opening = lines[n.lineno - 1][n.col_offset :]
            if id(n) in inside or not opening.startswith((b'"' + n.value.encode(), b"'" + n.value.encode())):
                raise ValueError(f"{file}, line {n.lineno}: name a module in a plain string on one line")
            yield n.lineno, n.col_offset + 1, f"{PACKAGE}."
