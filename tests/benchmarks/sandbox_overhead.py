"""What the sandbox costs: a trivial script through it, and through the same recorder in this process.

    python -m tests.benchmarks.sandbox_overhead [--runs N]

A run is all of it: the request is handed over, a child is forked, is isolated, runs the script, sends its answer
and ends.  The runs take turns, so that what else the machine does falls on all alike.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable

import msgspec

from app.protocol import Request
from app.recorder.handler import handle
from app.sandbox import Mechanism, Sandbox, Tier

HANDLER = "app.recorder.handler:handle"
SCRIPT = 'print("hello")\n'
GOAL_MILLISECONDS = 30.0
TIERS = {
    "all mechanisms of this host": frozenset(Mechanism),
    "no namespaces, as in a container": frozenset({Mechanism.SECCOMP, Mechanism.LANDLOCK, Mechanism.USER_ID}),
}


def timed(work: Callable[[], None]) -> float:
    """Return how long it took, in milliseconds."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def row(name: str, times: list[float], base: float) -> str:
    """Return a line of the table: median, 90th and 99th percentile, and what the median is above the base."""
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return f"{name:34}{cuts[49]:9.2f}{cuts[89]:9.2f}{cuts[98]:9.2f}{cuts[49] - base:10.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    request = msgspec.json.encode(Request(mode="compile", script=SCRIPT))
    with Sandbox(HANDLER) as strongest:
        offered = strongest.tier.mechanisms
    booted: dict[str, float] = {}
    sandboxes: dict[str, Sandbox] = {}
    processor: dict[str, list[float]] = {name: [] for name in TIERS}
    for name, mechanisms in TIERS.items():
        started = time.perf_counter()
        sandboxes[name] = Sandbox(HANDLER, preload=["app.recorder.handler"], tier=Tier(mechanisms=mechanisms & offered))
        booted[name] = time.perf_counter() - started

    def here() -> None:
        handle(request, lambda message: None)

    def inside(name: str, sandbox: Sandbox) -> None:
        job = sandbox.start(request)
        assert len(list(job.messages())) >= 1, job.outcome
        assert job.outcome.status == "ok", job.outcome
        processor[name].append(job.outcome.cpu_seconds * 1e3)

    work: dict[str, Callable[[], None]] = {"in this process": here}
    work |= {name: lambda name=name, sandbox=sandbox: inside(name, sandbox) for name, sandbox in sandboxes.items()}  # type: ignore[misc]
    times: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(runs + 5):
        for name, run in work.items():
            elapsed = timed(run)
            if turn >= 5:
                times[name].append(elapsed)
    base = statistics.median(times["in this process"])
    print(f"{platform.node()}, {platform.machine()}, Linux {platform.release()}; {runs} runs each, milliseconds\n")
    print(f"{'':34}{'median':>9}{'p90':>9}{'p99':>9}{'overhead':>10}")
    for name, values in times.items():
        print(row(name, values, base))
    print(f"\ngoal: at most {GOAL_MILLISECONDS:g} ms of overhead, median")
    load = os.getloadavg()[0]
    print(f"load of the machine: {load:.1f} on {os.cpu_count()} cores; what others use is in the figures above")
    for name, sandbox in sandboxes.items():
        spent = statistics.median(processor[name])
        print(f"{name}: {spent:.1f} ms of processor time a child; started in {booted[name]:.2f} s; {sandbox.tier}")
        sandbox.close()


if __name__ == "__main__":
    main()
