"""Challenges in the shell: the list, the check of a script, and pars that a search reaches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from app.artifacts import Problem, Workspace
from app.challenges import Problems
from app.challenges.pars import read_all
from app.challenges.standing import Standing
from app.jobs.ladders import Ended
from app.protocol import Failed
from app.shell import challenge
from app.shell.failures import Failure
from app.shell.main import main
from app.views.api import LadderStarted

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
    assert main(["challenge", "list", "matmul-with-tails"]) == 2
    assert "challenge list: lists all, got matmul-with-tails" in capsys.readouterr().err
    script = tmp_path / "mine.py"
    script.write_text(SMALL)
    assert main(["challenge", "check", "gpu-transposition", str(script)]) == 1
    assert "its arguments are float32[256]" in capsys.readouterr().out


class Refusing:
    """A server on which a step fails, and which may end before it says so."""

    address = ""

    def __init__(self, *events: Failed | Ended) -> None:
        self._events = events

    def send(self, path: str, body: object | None) -> bytes:
        made = LadderStarted(id="1", events="/1") if path.endswith("ladder") else Standing(passed=False, verdicts=[])
        return msgspec.json.encode(made)

    def lines(self, path: str) -> Iterator[bytes]:
        return (b"data: " + msgspec.json.encode(event) for event in self._events)


def test_what_fails_while_a_challenge_is_measured_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    problem = Problems().find("matmul")
    assert problem is not None
    failed = Failed(label="split(i, 4)", problem=Problem(kind="BuildError", message="no room"))
    ended = Ended(status="ok")
    assert challenge.check(Refusing(failed, ended), problem, Workspace(script="x = 1")) == 1
    assert capsys.readouterr().err == "split(i, 4): BuildError: no room\n"
    wrong = Failed(label="line 2", problem=Problem(kind="ValueError", message="no", line=2, column=4))
    assert (
        challenge.check(Refusing(wrong, Ended(status="error", message="no")), problem, Workspace(script="x"), "a.py")
        == 1
    )
    assert capsys.readouterr().err == "a.py:2:4: error: ValueError: no\n"
    with pytest.raises(Failure, match="the machine is gone"):
        challenge.check(Refusing(Ended(status="error", message="the machine is gone")), problem, Workspace(script="x"))


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
