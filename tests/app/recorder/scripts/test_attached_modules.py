"""Modules among the files that are attached to a script are imported, and errors in them tell where."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.artifacts import Problem
from app.recorder.scripts.allowance import Allowance
from app.recorder.scripts.script import Script


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory, of which no module stays imported."""
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def run(source: str) -> tuple[str, list[Problem]]:
    script = Script(source)
    with script.as_main():
        script.run(Allowance(5.0, 5.0))
    return "".join(entry.text for entry in script.transcript.finished()), script.problems


def test_a_module_beside_the_script_is_imported_and_nowhere_else(folder: Path) -> None:
    (folder / "attached_one.py").write_text("import attached_two\ntwice = attached_two.value * 2\n")
    (folder / "attached_two.py").write_text("value = 21\n")
    printed, problems = run("import attached_one\nprint(attached_one.twice, attached_one.__file__)")
    assert not problems
    assert printed == f"42 {folder / 'attached_one.py'}\n"
    del sys.modules["attached_one"]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("attached_one")
    assert not (folder / "__pycache__").exists()


def test_it_hides_no_other_module_and_is_no_package(folder: Path) -> None:
    (folder / "this.py").write_text("raise SystemExit\n")
    (folder / "antigravity_.py").write_text("import os\n")
    printed, problems = run("import this\nimport antigravity_.path")
    assert "Beautiful is better than ugly" in printed
    assert [problem.kind for problem in problems] == ["ModuleNotFoundError"]


def test_the_script_is_no_module_of_its_own(folder: Path) -> None:
    (folder / "script.py").write_text("value = 1\n")
    assert [problem.kind for problem in run("import script")[1]] == ["ModuleNotFoundError"]


def test_an_error_in_it_is_one_of_the_line_that_came_there_and_tells_its_own(folder: Path) -> None:
    (folder / "attached_one.py").write_text("def inverse(x):\n    return 1 / x\n")
    [problem] = run("import attached_one\n\nattached_one.inverse(0)\n")[1]
    assert (problem.kind, problem.line) == ("ZeroDivisionError", 3)
    assert problem.trace == [
        "line 3, in <module>: attached_one.inverse(0)",
        "attached_one.py, line 2, in inverse: return 1 / x",
    ]


def test_what_it_imports_in_vain_can_be_chosen_too(folder: Path) -> None:
    (folder / "attached_one.py").write_text("import attached_two\n")
    [problem] = run("import attached_one")[1]
    assert [fix.attach for fix in problem.fixes] == ["attached_two.py"]


def test_one_that_is_no_python_is_named(folder: Path) -> None:
    (folder / "attached_one.py").write_text("x = 1\ny = = 2\n")
    [problem] = run("import attached_one")[1]
    assert (problem.kind, problem.line) == ("SyntaxError", 1)
    assert "attached_one.py, line 2" in problem.message
