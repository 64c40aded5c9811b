"""Formatting: ruff's style, nothing runs, and what cannot be formatted says why."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from app.editor.formatting import format_script
from app.errors import InvalidBody
from app.gallery import load_gallery


def test_a_script_means_the_same_and_is_formatted_once_for_all() -> None:
    script = "".join(f"{example.script}\n" for example in load_gallery().examples[:3]) + "x = [ 1,2 ]\n"
    formatted = format_script(script)
    assert formatted != script
    assert "x = [1, 2]" in formatted
    assert ast.dump(ast.parse(formatted)) == ast.dump(ast.parse(script))
    assert format_script(formatted) == formatted


def test_nothing_of_a_script_runs(tmp_path: Path) -> None:
    target = tmp_path / "written"
    format_script(f"open({str(target)!r}, 'w').write('')")
    assert not target.exists()


@pytest.mark.parametrize(
    ("script", "reason"),
    [("x = (", r"line 1, column \d+: "), ("a\n  b", r"line 2, column \d+: "), ("(" * 100_000, "line|cannot")],
)
def test_what_is_no_python_says_where(script: str, reason: str) -> None:
    with pytest.raises(InvalidBody, match=reason):
        format_script(script)
