"""Challenges in the shell: the list, the check of a script, and pars that a search reaches."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from app.challenges import Problems
from app.challenges.pars import read_all
from app.shell import challenge
from app.shell.main import main

SMALL = '''"""Scale a vector

Double some numbers.
"""
# /// challenge
# numpy = "lambda A: A * 2"
# ///

import tvm
from tvm import te

A = te.placeholder((256,), name="A")
B = te.compute((256,), lambda i: A[i] * 2.0, name="B")
s = te.create_schedule(B.op)
f = tvm.build(s, [A, B], target="llvm")
'''


def test_challenges_are_listed_and_a_script_is_checked_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["challenge", "list"]) == 0
    assert "  matmul-with-tails    Matrix product with tails" in capsys.readouterr().out
    script = tmp_path / "mine.py"
    script.write_text(SMALL)
    assert main(["challenge", "check", "gpu-transposition", str(script)]) == 1
    assert "its arguments are float32[256]" in capsys.readouterr().out


def test_what_cannot_be_read_is_refused_before_an_explorer_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("app.shell.explorer.here", None)
    script = tmp_path / "mine.py"
    script.write_bytes(b"x = '\xff'")
    for names, words in (
        (["nothing", str(script)], "there is no challenge nothing"),
        (["matmul"], "name a challenge and a script"),
        (["matmul", str(tmp_path / "none.py")], "there is no file"),
        (["matmul", str(script)], "mine.py is not text"),
    ):
        assert main(["challenge", "check", *names]) == 2
        assert words in capsys.readouterr().err


def test_pars_of_other_processors_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "1_scale.py").write_text(SMALL)
    pars = tmp_path / "pars.json"
    other = {"cpu": "Another", "seconds": 1.0, "numpy": None, "trials": 5, "date": "2026-01-01"}
    pars.write_bytes(challenge.msgspec.json.encode({"scale": [other], "gone": [other]}))
    monkeypatch.setattr(challenge, "Problems", partial(Problems, tmp_path))
    monkeypatch.setattr(challenge, "PARS", pars)
    monkeypatch.setattr("app.challenges.pars.PARS", pars)
    for _ in range(2):
        assert main(["challenge", "par", "--trials", "1"]) == 0
    assert "scale: " in capsys.readouterr().out
    kept = read_all()
    assert [one.cpu for one in kept["gone"]] == ["Another"]
    first, second = kept["scale"]
    assert first.cpu == "Another"
    assert second.seconds > 0
    assert second.numpy is not None
    assert second.trials == 1
