"""Blocks of lessons, pasted without their imports and indentation: what the page offers makes them run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.artifacts import Answer
from tests.app.recorder.scripts.pasting import mended

LESSONS = Path(__file__).parents[4] / "app" / "lessons" / "texts"
PASTED = ["01", "07", "11", "13"]


def start(lesson: str) -> str:
    """Return the first script of a lesson as a page shows it whose code was copied badly: no imports, no margins."""
    [path] = LESSONS.glob(f"{lesson}_*.md")
    block = re.search(r"```python start\n(.*?)```", path.read_text(encoding="utf-8"), re.S)
    assert block is not None
    lines = [line.strip() for line in block[1].split("\n")]
    return "\n".join(line for line in lines if not re.match(r"(?:import|from) (?!compiler)", line))


@pytest.mark.parametrize("lesson", PASTED)
def test_a_lessons_block_shows_something_after_its_fixes(lesson: str) -> None:
    pasted = start(lesson)
    script, answer = mended(pasted)
    assert isinstance(answer, Answer)
    assert answer.problems == []
    assert answer.units
    assert script != pasted
