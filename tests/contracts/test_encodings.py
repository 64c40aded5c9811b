"""Every file that is opened as text says its encoding: no locale of a machine decides what is read."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ruff import find_ruff_bin


def test_every_text_file_says_its_encoding() -> None:
    command = [find_ruff_bin(), "check", "--preview", "--select", "PLW1514", "--no-cache", "app", "compiler"]
    found = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
