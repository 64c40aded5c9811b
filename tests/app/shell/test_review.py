"""``strata review``: the comment of a pull request; and the action that writes it, run by hand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from app.artifacts import Measurement
from app.shell.main import main
from app.shell.review import MARK, MOST_LINES, Ratio, quoted_diff

ACTION = Path(__file__).parents[3] / "app" / "deployment" / "action"
SCRIPT = """\
import tvm
from tvm import te

A = te.placeholder((64,), name="A")
B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
s = te.create_schedule(B.op)
{schedule}
f = tvm.build(s, [A, B], "llvm", name="twice")
"""
PLAIN = SCRIPT.format(schedule="")
VECTORIZED = SCRIPT.format(schedule="o, i = s[B].split(B.op.axis[0], 8)\ns[B].vectorize(i)")
BROKEN = SCRIPT.format(schedule="s[B].splitt(B.op.axis[0], 8)")


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as it was, ``base``, and the current one, whose programs changed."""
    base, here = tmp_path / "base", tmp_path / "here"
    for folder, texts in (
        (base, {"faster.py": PLAIN, "same.py": PLAIN, "gone.py": PLAIN, "broken.py": PLAIN, "ever.py": BROKEN}),
        (
            here,
            {"faster.py": VECTORIZED, "same.py": PLAIN, "new.py": PLAIN, "broken.py": BROKEN, "ever.py": BROKEN + "\n"},
        ),
    ):
        folder.mkdir()
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(here)
    return base


def reviewed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["review", *arguments])
    return code, capsys.readouterr().out


@pytest.mark.long
def test_loops_and_machine_code_are_compared(change: Path, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, comment = reviewed(
        capsys, "--base", str(change), "--server", server, "--pairs", "1", "faster.py", "same.py", "--link"
    )
    assert code == 0
    assert comment.startswith(f"{MARK}\n\n### ")
    assert "same.py" not in comment
    assert re.search(r"#### `faster.py` · \[open in Strata\]\(http://\S+/z/\w+\)", comment)
    assert re.search(r"\| vector bits \| .* \| \d+ \|", comment)
    assert "<summary>Loops: " in comment
    assert re.search(r"^\+.*T\.Broadcast", comment, re.MULTILINE)
    assert re.search(r"µs: \d+\.\d\d × the time \(.* in 1 pair\)", comment)


def test_what_is_new_gone_or_broken_is_told(change: Path, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["new.py", "gone.py", "broken.py", "ever.py"]
    code, said = reviewed(capsys, "--base", str(change), "--server", server, "--pairs", "0", "--json", *files)
    answer = json.loads(said)
    assert (code, answer["broken"]) == (1, ["broken.py"])  # the other one was broken before
    sections = re.split(r"\n#### `(.*)`\n", answer["comment"])
    told = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert told["new.py"].startswith("\nnew\n")
    assert told["gone.py"].strip() == "removed"
    assert "splitt" in told["broken.py"]
    assert "error: " in told["ever.py"]


def test_a_file_that_is_nowhere_is_an_error(change: Path, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", "--base", str(change), "--server", server, "no.py"]) == 2
    assert "there is no file no.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--base", "nowhere"], "--base: nowhere is no folder"),
        (["--base", ".", "--pairs", "-1"], "--pairs: expected 0 or more, got -1"),
        (["--base", ".", "--link"], "--link: --server says where the scripts are kept"),
    ],
)
def test_options_of_which_the_comment_would_mislead_are_refused(
    arguments: list[str], sentence: str, change: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["review", *arguments, "faster.py"]) == 2
    assert sentence in capsys.readouterr().err


def test_what_a_program_writes_does_not_end_its_block(
    change: Path, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("new.py").write_text("raise ValueError('```\\n# taken over')\n", encoding="utf-8")
    _, comment = reviewed(capsys, "--base", str(change), "--server", server, "new.py")
    (fence,) = set(re.findall("^`{3,}", comment, re.MULTILINE)) - {"```"}
    block = comment.split(f"\n{fence}\n")
    assert "# taken over" in block[1]


def test_a_long_diff_is_cut_and_says_so() -> None:
    assert quoted_diff(["+x"] * MOST_LINES).count("\n+x") == MOST_LINES
    assert quoted_diff(["+x"] * (MOST_LINES + 7)).endswith("\n… 7 more lines\n```")


def times(*seconds: float, spread: float = 0.0) -> list[Measurement]:
    return [Measurement(kind="kernel", name="f", seconds=s, spread=s * spread) for s in seconds]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (times(2.0, 2.0, 2.2), times(1.0, 1.1, 1.0), "**faster**"),
        (times(1.0, 1.0, 1.0), times(1.5, 1.4, 1.5), "**slower**"),
        (times(1.0, 1.0, 1.0), times(1.01, 0.99, 1.0), "no difference"),
        (times(1.0, 1.0, 1.0), times(1.4, 0.8, 1.0), "undecided: the pairs disagree"),
        (times(1.0, 1.0, 1.0), times(0.5, 0.5, 0.5, spread=0.4), "**faster**, disturbed"),
    ],
)
def test_a_difference_is_one_if_all_pairs_say_so(
    before: list[Measurement], after: list[Measurement], verdict: str
) -> None:
    assert str(Ratio(list(zip(before, after, strict=True)))).endswith(f"in 3 pairs), {verdict}")


GH = """\
#!/bin/sh
echo "$*" >> "$CALLS"
case "$*" in *--paginate*) cat "$EARLIER" ;; esac
"""


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_action_replaces_its_comment(change: Path, server: str, tmp_path: Path) -> None:
    """Its steps as a runner would carry them out, with a ``gh`` that notes what it is asked for."""
    steps = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    scripts = [step["run"] for step in steps if "GITHUB_ACTION_PATH" in step.get("run", "")]
    bin_, calls, earlier = tmp_path / "strata" / "bin", tmp_path / "calls", tmp_path / "earlier"
    bin_.mkdir(parents=True)
    for name, text in {"gh": GH, "strata": f'#!/bin/sh\nexec {sys.executable} -m app.shell.main "$@"\n'}.items():
        (bin_ / name).write_text(text, encoding="utf-8")
        (bin_ / name).chmod(0o755)
    for folder in (change, Path.cwd()):
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        subprocess.run(["git", "add", "."], cwd=folder, check=True)
    environment = os.environ | {
        "RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(ACTION), "GITHUB_OUTPUT": str(tmp_path / "output"),
        "PYTHONPATH": str(ACTION.parents[2]), "PATH": f"{bin_}:{os.environ['PATH']}", "FILES": "broken.py g*.py",
        "STRATA_SERVER": server, "TARGET": "", "PAIRS": "0", "REPOSITORY": "a/b", "NUMBER": "7",
        "CALLS": str(calls), "EARLIER": str(earlier),
    }  # fmt: skip
    for script, number in zip((*scripts, scripts[-1]), ("", "", "42\n"), strict=True):
        earlier.write_text(number, encoding="utf-8")
        subprocess.run(["bash", "-c", script], env=environment, check=True)
    comment = (tmp_path / "comment.md").read_text(encoding="utf-8")
    assert "`broken.py`" in comment
    assert "`gone.py`\n\nremoved" in comment
    assert (tmp_path / "output").read_text(encoding="utf-8") == "status=1\n"
    written = [line for line in calls.read_text(encoding="utf-8").splitlines() if "--silent" in line]
    assert written[0].startswith("api --silent repos/a/b/issues/7/comments ")
    assert written[1].startswith("api --silent -X PATCH repos/a/b/issues/comments/42 ")
