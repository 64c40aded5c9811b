"""The table of panes is the only list of them: no other file names two panes in one literal."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from app.artifacts import Answer
from app.panes import table
from app.panes.page import page
from app.panes.selection import View

ROOT = Path(__file__).resolve().parents[2]
NAMES = frozenset(pane.name for pane in table.PANES)
TABLE = ROOT / "app/panes/table.py"
OTHER_WORDS = {
    "app/artifacts.py": "origins have levels, some of which are called like panes",
    "app/recorder/handler.py": "modes, some of which are called like panes",
    "app/panes/highlighting.py": "languages, some of which are called like panes",
    "app/panes/steps.py": "groups of steps, some of which are called like panes",
}
"""File -> what the words in its literals are, where they are not panes."""
_STRING = re.compile(r"""(["'])(?P<text>[^"'\n]*)\1""")
_SAME_LITERAL = re.compile(r"""\A[^()\[\]{};]*\Z""")


def python_literals(text: str) -> Iterator[set[str]]:
    """Yield the strings of each list, tuple, set, mapping and ``Literal`` of a Python file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Dict):
            yield strings([*node.keys, *node.values])
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            yield strings(node.elts)


def strings(nodes: Sequence[ast.expr | None]) -> set[str]:
    """Return the strings among some expressions."""
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def other_literals(text: str) -> Iterator[set[str]]:
    """Yield the strings of neighbouring literals, and the keys of neighbouring properties, of a script or template."""
    for first, second in pairwise(_STRING.finditer(text)):
        between = text[first.end() : second.start()]
        if _SAME_LITERAL.match(between) and "\n\n" not in between:
            yield {first["text"].removeprefix("#pane-"), second["text"].removeprefix("#pane-")}
    for keys in re.findall(r"\{([^{}]*)\}", text):
        yield set(re.findall(r"(\w+)\s*:(?!:)", keys))


def lists_of_panes(path: str, text: str) -> list[set[str]]:
    """Return the literals of a file that name two panes or more."""
    literals = python_literals(text) if path.endswith(".py") else other_literals(text)
    return [named & NAMES for named in literals if len(named & NAMES) > 1]


FILES = sorted(
    str(path.relative_to(ROOT))
    for folder, pattern in (("app", "**/*.py"), ("static/js", "*.js"), ("templates", "**/*.html"))
    for path in (ROOT / folder).glob(pattern)
    if path != TABLE and "gallery" not in path.parts
)


def test_no_file_lists_panes_by_itself() -> None:
    listing = {path: found for path in FILES if (found := lists_of_panes(path, (ROOT / path).read_text()))}
    assert {path: found for path, found in listing.items() if path not in OTHER_WORDS} == {}
    assert [path for path in OTHER_WORDS if path not in listing] == [], "need not be excepted any more"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("x.js", 'for (const pane of ["loops", "llvm"]) watch(pane);'),
        ("x.js", "const REASONS = { graph: 1, loops: 2 };"),
        ("x.js", 'parts: ["#pane-loops", "#pane-asm"]'),
        ("x.html", '{% if pane in ("graph", "loops") %}'),
        ("x.html", "{% set empty = {'llvm': 1, 'asm': 2} %}"),
        ("x.py", 'PaneName = Literal["graph", "loops"]'),
        ("x.py", 'PANES = {"llvm": 1, "asm": 2}'),
    ],
)
def test_a_list_of_panes_would_be_noticed(path: str, text: str) -> None:
    assert lists_of_panes(path, text)


def test_each_pane_stands_in_a_dock_and_each_dock_has_panes() -> None:
    assert len(NAMES) == len(table.PANES)
    assert {pane.dock for pane in table.PANES} <= {dock.name for dock in table.DOCKS}
    for dock in table.DOCKS:
        assert table.panes_of(dock), dock.name


def test_each_pane_has_a_template_and_says_what_it_lacks() -> None:
    empty = page(Answer(), View())
    for pane in table.PANES:
        assert (ROOT / "templates" / pane.template).is_file(), pane.name
        if empty.contents[pane.name] is None and pane.redrawn and not pane.on_demand:
            assert pane.empty, pane.name
        assert bool(pane.unlinked) == (pane.listing or pane.name == "source"), pane.name
        assert bool(pane.strip) == (pane.fold is not None), pane.name
        assert bool(pane.against) == pane.listing, pane.name


def test_no_two_panes_show_the_same_steps() -> None:
    groups = [pane.group for pane in table.PANES if pane.group and not pane.copy_of]
    assert len(groups) == len(set(groups))
