"""What the READMEs name is there: files and folders, modules to run, optional dependencies."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache

import pytest

from app.docs.library import PAGES
from tests.contracts.measures.sources import ROOT

TREES = ("app", "compiler", "static", "templates", "tests")
OF_A_SERVER = {"backups/", "results/", "uploads/"}
"""Folders of a server's data, which the project does not have."""
_FENCE = re.compile(r"^(`{3,4}).*?^\1$", re.MULTILINE | re.DOTALL)
_TO_WRITE = re.compile(r"^## How to add$.*", re.MULTILINE | re.DOTALL)
"""Names files that its reader is to write."""
_PATH = re.compile(r"`((?!\.)[\w./-]+(?:/|\.(?:py|js|css|html|toml|yaml|md)))`")
_MODULE = re.compile(r"-m ((?:app|compiler|tests)[\w.]*)")
_EXTRAS = re.compile(r"(?:\.|strata-explorer)\[([\w,]+)\]")


@cache
def places() -> frozenset[str]:
    """Return every file and folder of the project, and all ends of their paths; folders end in a slash."""
    found: set[str] = {path.name for path in ROOT.iterdir() if path.is_file()}
    for tree in TREES:
        for path in (ROOT / tree, *(ROOT / tree).rglob("*")):
            parts = path.relative_to(ROOT).parts
            end = "/" if path.is_dir() else ""
            found.update("/".join(parts[at:]) + end for at in range(len(parts)))
    return frozenset(found)


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


def absent(text: str) -> Iterator[str]:
    """Yield what a README names that is not there."""
    prose = _TO_WRITE.sub("", _FENCE.sub("", text))
    yield from (path for path in _PATH.findall(prose) if path not in places() and path not in OF_A_SERVER)
    yield from (name for name in _MODULE.findall(text) if not is_module(name))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    yield from (extra for group in _EXTRAS.findall(text) for extra in group.split(",") if extra not in extras)


@pytest.mark.parametrize("readme", [path for _, path, _ in PAGES])
def test_what_a_readme_names_is_there(readme: str) -> None:
    assert list(absent((ROOT / readme).read_text("utf-8"))) == []


def test_what_is_not_there_is_found() -> None:
    installed = "`pip install -e '.[cuda,none]'`, `pip install 'strata-explorer[cuda,nil]'`"
    text = f"`app/nowhere.py`, `common/`, `python -m tests.nothing`, {installed}; `ir/node.py`"
    assert list(absent(text)) == ["app/nowhere.py", "common/", "tests.nothing", "none", "nil"]
