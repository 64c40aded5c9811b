"""Measures the ladder that stands beside the first example, before a visitor has measured anything.

python -m tests.benchmarks.stored_ladder

It writes app/gallery/01_matmul_scheduled.ladder.json: run it on a quiet machine with AVX-512, after any change to the
example or to what the compiler makes of it.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import msgspec

from app.artifacts import Measurement, Options
from app.gallery import read_example
from app.protocol import Failed, Measured, Progress
from app.recorder.measuring.ladder import Ladder
from app.recorder.measuring.measured_program import TensorProgram
from compiler.classic import alias
from compiler.target.target import Target

EXAMPLE = Path(__file__).parents[2] / "app" / "gallery" / "01_matmul_scheduled.py"


def program_of(script: str) -> TensorProgram:
    """Return the schedule of a script and its arguments, as a ladder measures it."""
    alias.install()
    names: dict[str, object] = {}
    exec(compile(script, str(EXAMPLE), "exec"), names)
    return TensorProgram(names["s"], [names["A"], names["B"], names["C"]])  # type: ignore[arg-type, list-item]


def main() -> None:
    """Measure and write."""
    measured: list[Measurement] = []

    def take(event: Progress | Measured | Failed) -> None:
        if isinstance(event, Failed):
            raise SystemExit(event.problem.message)
        if isinstance(event, Measured):
            now = event.measurement
            measured[:] = [m for m in measured if (m.kind, m.step) != (now.kind, now.step)] + [now]

    Ladder(program_of(read_example(EXAMPLE).script), Target("llvm -mcpu=native"), Options(), take).run()
    ordered = sorted(measured, key=lambda m: -1 if m.step is None else m.step)
    rows = [msgspec.structs.replace(m, source="package", frequency=None) for m in ordered]
    for row in rows:
        print(f"{row.name:40} {row.gflops or 0:8.1f} GFLOP/s{' disturbed' if row.disturbed else ''}")
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes").removesuffix("+00:00")
    stored = {"date": date, "measurements": rows}
    EXAMPLE.with_suffix(".ladder.json").write_bytes(msgspec.json.format(msgspec.json.encode(stored), indent=1) + b"\n")


if __name__ == "__main__":
    main()
