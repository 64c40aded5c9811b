"""``python -m app.cluster`` says what it takes, and what it lacks."""

from __future__ import annotations

import subprocess
import sys

import pytest


def called(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command where Dask is not installed."""
    code = "import sys, runpy; sys.modules['dask'] = None; runpy.run_module('app.cluster', run_name='__main__')"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=100)


def test_without_dask_it_names_the_extra() -> None:
    done = called()
    assert done.returncode == 1
    assert "strata: no machine of a cluster can be started: " in done.stderr
    assert "pip install 'strata-explorer[cluster]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("option", "words"), [("--help", "usage: python -m app.cluster"), ("--version", "strata ")])
def test_it_says_what_it_is(option: str, words: str) -> None:
    assert words in called(option).stdout
