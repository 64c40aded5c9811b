"""Exports gallery and lessons to TVM 0.27, runs them there, and compares values.

``python -m tests.outside.todays_tvm [NAME …]`` takes the scripts whose names contain a word, or all.
``STRATA_TODAYS_TVM`` names the interpreter of an environment with ``apache-tvm`` 0.27.  Prints a table: one line for
each function of a script, with what came of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.gallery import load_gallery
from app.lessons.lesson import read_lesson
from app.recorder.recorder import Recorder
from app.recorder.todays_tvm.program import Program, program_of
from app.recorder.units.subjects import FunctionSubject
from compiler.classic import alias
from compiler.ir.error import TVMError
from compiler.ir.instrument import instrumented
from compiler.runtime.arrays.ndarray import array
from compiler.runtime.modules.module import Module

TODAYS_TVM = os.environ.get("STRATA_TODAYS_TVM", "")
_RUNNER = Path(__file__).with_name("run_todays_tvm.py")
_TEXTS = Path(__file__).parents[2] / "app" / "lessons" / "texts"


@dataclass
class Export:
    """A function of a script, and what came of exporting it."""

    name: str
    state: str
    detail: str = ""
    program: Program | None = None
    built: Module | None = None
    tolerance: float = 1e-4


def scripts() -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the gallery's scripts and the lessons' answers."""
    for example in load_gallery():
        yield example.name, example.script
    for path in sorted(_TEXTS.glob("*.md")):
        for number, step in enumerate(read_lesson(path).steps, 1):
            if step.answer:
                yield f"{path.stem}, step {number}", step.answer


def functions_of(script: str, name: str = "script") -> list[FunctionSubject]:
    """Run a script, and return the functions that it builds or lowers."""
    recorder = Recorder()
    alias.install()
    linecache.cache[name] = (len(script), None, script.splitlines(keepends=True), name)  # TVMScript reads its source
    with instrumented(recorder), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(script, name, "exec"), {"__name__": "__main__"})
    return list(recorder.functions)


def exports(name: str, script: str) -> Iterator[Export]:
    """Yield an export for each function of a script."""
    functions = functions_of(script, name)
    if not functions:
        yield Export(name, "no function", "it makes graphs alone")
    for function in functions:
        try:
            program = program_of(function)
        except TVMError as error:
            yield Export(f"{name}: {function.name}", "not exportable", str(error).splitlines()[0])
        else:
            yield Export(f"{name}: {function.name}", "exported", "", program, function.built)


def run_there(programs: Sequence[Program], folder: Path) -> list[dict[str, str]]:
    """Run programs on TVM 0.27, each in a process of its own, since one may take another with it."""
    answers = []
    for number, program in enumerate(programs):
        path = folder / f"program{number}.py"
        path.write_text(program.text)
        done = subprocess.run([TODAYS_TVM, str(_RUNNER), str(path)], capture_output=True, text=True, check=False)
        lines = done.stdout.strip().splitlines()
        crash = {"state": "not ran", "detail": f"exit code {done.returncode}: {done.stderr[-200:]}"}
        answers.append(json.loads(lines[-1]) if lines and lines[-1].startswith("{") else crash)
    return answers


def compare(export: Export, saved: Path) -> str:
    """Return whether what TVM 0.27 computed, scheduled and not, is what the function built here computes."""
    data = np.load(saved)
    count = sum(key.startswith("given") for key in data.files)
    results = sum(key.startswith("got") for key in data.files)
    got = [data[f"got{i}"] for i in range(results)]
    plain = [data[f"plain{i}"] for i in range(results)]
    pairs = list(zip(got, plain, strict=True))
    if export.built is None:
        return "equal to its definition" if all(map(_close, got, plain)) else "OTHER VALUES"
    given = [data[f"given{i}"] for i in range(count)]
    values = [array(v) if v.ndim else int(v) for v in given]
    export.built(*values)
    arrays = [v.numpy() for v in values if not isinstance(v, int)]
    same = all(any(_close(g, a) for a in arrays if a.shape == g.shape) and _close(g, p) for g, p in pairs)
    return "equal" if same else "OTHER VALUES"


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    tolerance = 2e-2 if a.dtype == np.float16 else 1e-4
    wanted = b.astype("float64")
    scale = max(1.0, float(np.abs(np.nan_to_num(wanted)).max(initial=0)))
    return np.allclose(a.astype("float64"), wanted, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def main(chosen: Sequence[str]) -> int:
    """Print the table; of the scripts whose name contains one of ``chosen``, or of all."""
    if not TODAYS_TVM:
        print("STRATA_TODAYS_TVM names no interpreter with TVM 0.27", file=sys.stderr)
        return 2
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, script in scripts():
            if chosen and not any(word in name for word in chosen):
                continue
            try:
                made = list(exports(name, script))
            except Exception as error:  # a script of a lesson may be wrong on purpose
                made = [Export(name, "script fails", str(error).splitlines()[0])]
            for export in made:
                if export.program is not None:
                    [answer] = run_there([export.program], Path(folder))
                    export.state, export.detail = answer["state"], answer.get("detail", "")
                    if export.state == "ran":
                        export.state = compare(export, Path(folder) / "program0.py.npz")
                    missing = "; ".join(export.program.missing)
                    export.detail += f" [no counterpart: {missing}]" if missing else ""
                counts[export.state] += 1
                print(f"{export.name:<55} {export.state:<16} {export.detail}", flush=True)
    print(dict(counts))
    return 1 if any(counts[state] for state in ("OTHER VALUES", "not ran", "not scheduled", "not compiled")) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
