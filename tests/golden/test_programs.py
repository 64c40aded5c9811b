"""Each program prints what it printed before: the golden text beside this file, reviewed once.

python -m pytest tests/golden --update-golden    # writes the texts anew
"""

from __future__ import annotations

import contextlib
import io
import runpy
from pathlib import Path

import pytest

from compiler.classic import alias

HERE = Path(__file__).parent
PROGRAMS = sorted(p for p in (HERE.parent / "programs").glob("*.py") if p.stem != "__init__")
LOWERED = [p for p in PROGRAMS if "create_schedule" in (text := p.read_text("utf-8")) and "relay" not in text]
"""Programs whose passes take tensor expressions to loops, and nothing else."""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_prints_its_golden_text(program: Path, request: pytest.FixtureRequest) -> None:
    alias.install()
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        runpy.run_path(str(program), run_name="__main__")
    golden = HERE / f"{program.stem}.txt"
    if request.config.getoption("--update-golden"):
        golden.write_text(output.getvalue(), encoding="utf-8")
    assert output.getvalue() == golden.read_text(encoding="utf-8")


def test_every_golden_text_has_its_program() -> None:
    texts = {p.stem for p in HERE.glob("*.txt")}
    assert texts == {p.stem for p in PROGRAMS}
