"""Blocks of a course, pasted one by one and in order: each shows something, or says what it lacks.

``STRATA_COURSE`` names a folder of texts in which comments ``# %%`` set the blocks apart.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.recorder.scripts.cells import cells_of
from tests.app.recorder.scripts.pasting import mended

COURSE = os.environ.get("STRATA_COURSE", "")
TEXTS = sorted(path for path in Path(COURSE).iterdir() if path.is_file()) if COURSE else []
TOLD = {"NameError", "ModuleNotFoundError", "FileNotFoundError", "TypeInferenceError"}
"""What is wrong with a block that needs others, a package or a file, or whose own shapes do not fit."""
pytestmark = pytest.mark.skipif(not TEXTS, reason="STRATA_COURSE names no folder")


def blocks(path: Path) -> list[str]:
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    return ["\n".join(lines[cell.line : cell.end_line]) + "\n" for cell in cells_of(source)]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_each_block_shows_something_or_says_what_it_lacks(path: Path) -> None:
    for block in blocks(path):
        _, answer = mended(block)
        assert all(problem.line and problem.message for problem in answer.problems), block
        kinds = {problem.kind for problem in answer.problems}
        assert "SyntaxError" not in kinds, block
        assert kinds <= TOLD or answer.units or answer.console, block


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_all_blocks_in_order_show_something(path: Path) -> None:
    _, answer = mended(path.read_text(encoding="utf-8"))
    assert answer.cells
    assert answer.units
    assert answer.console
    assert "SyntaxError" not in {problem.kind for problem in answer.problems}
