"""Runs what is generated for NVIDIA's GPUs on the GPU of this machine, and writes what it shows.

    python -m tests.outside.device [--out FOLDER] [--minutes 8] [--only STEP ...] [--emulated]

The steps are those of ``steps.py``.  First come the ones that compare results, side by side, then the ones that
measure, one after the other; each is a process of its own with a time limit, which goes on behind a case that ended it.
``FOLDER/device.json`` is written after each step and ``FOLDER/device.md`` at the end; a second start does what is not
yet done.  With ``--emulated`` kernels run on the CPU, where they compute the same and measure nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from compiler.runtime.machine import available_cores
from tests.outside.device.cases import Record, finished, read
from tests.outside.device.page import page
from tests.outside.device.steps import STEPS, Step

RESTARTS = 12
"""How often a step whose process ended early is started again."""


def run(step: Step, out: Path, ends: float, emulated: bool) -> Record:
    """Run a step until it has done its cases, or its time is over."""
    record = out / f"{step.name}.jsonl"
    command = [sys.executable, "-m", "tests.outside.device.child", step.name, str(record), *["--emulated"] * emulated]
    began, why = time.monotonic(), ""
    with (out / f"{step.name}.log").open("a") as log:
        for _ in range(RESTARTS):
            seconds = min(step.seconds - (time.monotonic() - began), ends - time.monotonic())
            if seconds <= 0:
                why = "out of time"
                break
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with what the step started
                process.wait()
                why = "out of time"
                break
            why = f"ended with {code}" if code else ""
            if not code:
                break
    return {"why": why, "seconds": round(time.monotonic() - began, 1), "done": not why, "cases": finished(read(record))}


def main() -> None:
    """Run the steps that are not done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("device-results"))
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--only", nargs="*", choices=[step.name for step in STEPS], help="these steps, once more")
    parser.add_argument("--emulated", action="store_true")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    ends = time.monotonic() + 60 * asked.minutes
    results = asked.out / "device.json"
    known: dict[str, Any] = json.loads(results.read_text()) if results.exists() else {}
    for name in asked.only or ():
        known.pop(name, None)
        (asked.out / f"{name}.jsonl").unlink(missing_ok=True)
    todo = [
        step for step in STEPS if not known.get(step.name, {}).get("done") and step.name in (asked.only or step.name)
    ]

    def one(step: Step) -> None:
        known[step.name] = run(step, asked.out, ends, asked.emulated)
        results.write_text(json.dumps(known, indent=1))
        failed = [case["name"] for case in known[step.name]["cases"] if case["status"] not in ("ok", "refused")]
        count, seconds = len(known[step.name]["cases"]), known[step.name]["seconds"]
        print(f"{step.name}: {count} cases in {seconds} s {known[step.name]['why']} failed: {failed[:20]}", flush=True)

    with ThreadPoolExecutor(max(available_cores() - 1, 1)) as pool:
        list(pool.map(one, [step for step in todo if not step.measures]))
    for step in todo:
        if step.measures:
            one(step)
    text = page(known)
    (asked.out / "device.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
