"""``python -m compiler`` runs scripts and modules, and shows errors in the user's own lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compiler.__main__ import main

ROOT = Path(__file__).parents[3]


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "compiler", *arguments],
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_script_with_arguments(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("value = 3\n")
    script = tmp_path / "script.py"
    script.write_text("import sys, tvm, neighbour\nprint(sys.argv[1:], tvm.__name__, __name__, neighbour.value)\n")
    done = run(str(script), "a", "-b", cwd=tmp_path)
    assert done.stdout == "['a', '-b'] compiler __main__ 3\n"
    assert done.returncode == 0


def test_a_module(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import sys\nfrom tvm import tir\nprint(tir.Var('i') + 1, sys.argv[1:])\n")
    done = run("-m", "own", "x", cwd=tmp_path)
    assert done.stdout == "i + 1 ['x']\n"


def test_an_exit_code_is_passed_on(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nsys.exit(3)\n")
    assert run(str(script)).returncode == 3


def test_an_error_of_the_program_shows_the_program_only(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    lines = ["from tvm import tir", "def f():", "    return tir.call_intrin('int32', 'tir.x')", "f()", ""]
    script.write_text("\n".join(lines))
    done = run(str(script))
    assert done.returncode == 1
    shown = done.stderr.splitlines()
    assert shown[0] == "Traceback (most recent call last):"
    assert shown[-1] == "compiler.ir.error.TVMError: Op.get: no operator is named 'tir.x'"
    files = [line for line in shown if line.lstrip().startswith("File")]
    assert len(files) == 2
    assert all(str(script) in line for line in files)


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert "usage: python -m compiler SCRIPT" in run("--help").stdout
    assert "usage: strata python SCRIPT" in (main(["--help"], "strata python"), capsys.readouterr().out)[1]
    assert run().returncode == 2
    assert "there is no file" in run("missing.py").stderr


@pytest.mark.parametrize("module", ["missing", "missing.part"])
def test_a_module_that_is_missing_is_named(module: str) -> None:
    done = run("-m", module)
    assert done.returncode == 2
    assert done.stderr == f"python -m compiler: there is no module {module!r}\n"


def test_without_pytest_its_extra_is_named() -> None:
    program = (
        "import importlib.util as u, runpy; found = u.find_spec\n"
        "u.find_spec = lambda name: None if name == 'pytest' else found(name)\n"
        "runpy.run_module('compiler', run_name='__main__')"
    )
    command = [sys.executable, "-c", program, "-m", "pytest"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stderr.endswith("there is no module 'pytest'; pip install 'strata-explorer[testing]'\n")
