"""Directories that a killed server leaves: the next one sweeps them, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from app.sandbox.scratch import PREFIX, Scratch, sweep

HOLDER = """
import sys
from app.sandbox.scratch import Scratch
scratch = Scratch()
(scratch.path / "work").mkdir()
(scratch.path / "work" / "file").write_text("content")
print(scratch.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays() -> None:
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        path = Path(holder.stdout.readline().strip())
        sweep()
        assert (path / "work" / "file").exists()
        holder.kill()
    assert path.exists()
    sweep()
    assert not path.exists()


def test_nothing_else_is_touched(temporary: Path) -> None:
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("content")
    (temporary / f"{PREFIX}abcdefgh").symlink_to(elsewhere)
    (temporary / f"{PREFIX}12345678").write_text("a file")
    (temporary / f"{PREFIX}notes-of-mine").mkdir()
    (temporary / "strata-notes").mkdir()
    before = sorted(temporary.rglob("*"))
    sweep()
    assert sorted(temporary.rglob("*")) == before


def test_one_s_own_is_removed_when_it_is_no_longer_needed(temporary: Path) -> None:
    scratch = Scratch()
    (scratch.path / "file").write_text("content")
    sweep()
    assert scratch.path.exists()
    scratch.remove()
    scratch.remove()
    assert list(temporary.iterdir()) == []
