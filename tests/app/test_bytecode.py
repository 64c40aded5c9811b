"""A server that runs from a clone leaves bytecode for the processes that may write none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.bytecode import write_bytecode


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    (tmp_path / "module.py").write_text("x = 1\n")
    return tmp_path


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_what_is_missing_is_written(package: Path, monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    if platform == "win32":
        monkeypatch.delattr("os.setpriority")
    process = write_bytecode([package])
    monkeypatch.undo()
    assert process is not None
    assert process.wait() == 0
    assert [path.name.partition(".")[0] for path in (package / "__pycache__").iterdir()] == ["module"]


def test_nothing_is_tried_where_nothing_may_be_written(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.bytecode.os.access", lambda *_: False)
    assert write_bytecode([package]) is None
    monkeypatch.undo()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert write_bytecode([package]) is None
