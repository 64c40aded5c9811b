"""How long imports and the start of the explorer take: ``python -m tests.benchmarks.startup [--runs N] [--no-server]``.

Imports are measured in fresh interpreters that take turns, with bytecode cached: processor time of the whole process,
the median and the least, and the number of modules that it loaded.  The server's times are those of the clock, from the
start of ``python -m app`` until it says something, until it is ready, and until its first page is there; they mean
something on a quiet machine only.  The processor time that it and its processes have taken until then does on any.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from compiler.runtime.machine import this_machine
from tests.ports import free_port

MODULES = ("numpy", "compiler", "compiler.te", "compiler.tir", "compiler.relay", "compiler.driver", "app.server")
PROGRAM = "import time, sys, {module}; print(time.process_time(), len(sys.modules))"
ROOT = Path(__file__).parents[2]


def environment() -> dict[str, str]:
    """Return an environment in which bytecode is cached."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(ROOT)}


def imported(module: str) -> tuple[float, int]:
    """Import a module in a fresh interpreter; return its processor time in seconds, and how many modules it has."""
    command = [sys.executable, "-c", PROGRAM.format(module=module)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    seconds, modules = told.stdout.split()
    return float(seconds), int(modules)


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that they have."""
    children = [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
    return [*children, *(deeper for child in children for deeper in descendants(child))]


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process, with that of those it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def started() -> dict[str, float]:
    """Start the server; return its seconds until its first words, until it is ready, and for its first two pages."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        command = [sys.executable, "-u", "-m", "app", "--port", str(port), "--data", folder]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(), cwd=ROOT
        ) as server:
            assert server.stdout is not None
            times: dict[str, float] = {}
            for line in server.stdout:
                times.setdefault("first words", time.perf_counter() - began)
                if "Ctrl+C" in line:
                    break
            times["ready"] = time.perf_counter() - began
            times["processor time until ready"] = sum(map(processor_seconds, [server.pid, *descendants(server.pid)]))
            for page in ("first page", "second page"):
                before = time.perf_counter()
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
                    answer.read()
                times[page] = time.perf_counter() - before
            server.terminate()
        return times


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--no-server", action="store_true")
    options = parser.parse_args()
    for module in MODULES:
        imported(module)  # writes the bytecode
    runs = [{module: imported(module) for module in MODULES} for _ in range(options.runs)]
    print(f"{this_machine().processor}, Python {sys.version.split()[0]}, {options.runs} runs\n")
    print("| import | processor time, median | least | modules |\n|---|---|---|---|")
    for module in MODULES:
        seconds = [run[module][0] for run in runs]
        print(f"| `{module}` | {statistics.median(seconds):.3f} s | {min(seconds):.3f} s | {runs[0][module][1]} |")
    if not options.no_server:
        starts = [started() for _ in range(max(1, options.runs // 3))]
        print("\n| server | median | least |\n|---|---|---|")
        for name in starts[0]:
            seconds = [start[name] for start in starts]
            print(f"| {name} | {statistics.median(seconds):.2f} s | {min(seconds):.2f} s |")


if __name__ == "__main__":
    main()
