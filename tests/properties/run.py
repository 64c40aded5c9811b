"""Checks many random programs, and says which compiled slowest and in which pass.

    python -m tests.properties.run te --seeds 0:5000

Programs run in a process of their own, so that one that crashes or does not end is counted like any other.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from tests.machines import processors
from tests.properties.pass_times import PassTimes

OUTCOMES = ("same", "refused", "wrong", "failed", "crashed", "over the limit")
GOOD = ("same", "refused")
_A_PROCESS = 250
"""Programs that a process checks before another takes its place, as loaded machine code is never given back."""


@dataclass
class Verdict:
    """What came of a program on a processor, and the processor time of its passes."""

    seed: int
    mcpu: str
    outcome: str
    reason: str = ""
    seconds: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    def times(self) -> str:
        """The time of the program, and the passes that took most of it."""
        passes = ", ".join(f"{name} {spent:.2f} s" for name, spent in self.seconds.most_common(3))
        return f"{self.total:7.2f} s  seed {self.seed} on {self.mcpu}: {passes}"


def judge(check: Any, seed: int, mcpu: str) -> Verdict:
    """Check one program in this process."""
    from tests.properties.kinds import Refused

    times = PassTimes()
    verdict = Verdict(seed, mcpu, "same", seconds=times.seconds)
    try:
        check(seed, mcpu, times)
    except Refused as error:
        verdict.outcome, verdict.reason = "refused", str(error)
    except AssertionError as error:
        verdict.outcome, verdict.reason = "wrong", str(error)
    except Exception as error:
        verdict.outcome, verdict.reason = "failed", f"{type(error).__name__}: {error}"
    return verdict


def _work(check: Any, programs: Sequence[tuple[int, str]], limit: float, connection: Connection) -> None:
    """Check programs and send the verdicts; the system ends the process when one takes longer than the limit."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for seed, mcpu in programs:
        signal.setitimer(signal.ITIMER_PROF, limit)
        connection.send(judge(check, seed, mcpu))
    signal.setitimer(signal.ITIMER_PROF, 0)


def verdicts(check: Any, programs: Sequence[tuple[int, str]], limit: float) -> Iterator[Verdict]:
    """Yield what comes of programs, each a seed and a processor, within a limit of processor seconds."""
    at = 0
    while at < len(programs):
        here, there = get_context("spawn").Pipe(duplex=False)
        part = programs[at : at + _A_PROCESS]
        process = get_context("spawn").Process(target=_work, args=(check, part, limit, there), daemon=True)
        process.start()
        there.close()
        received = 0
        with suppress(EOFError):  # the process has ended; the program that it was checking is judged below
            while received < len(part) and here.poll(20 * limit + 60):
                yield here.recv()
                received += 1
        if received < len(part):
            yield Verdict(*part[received], *_end(process))
            received += 1
        process.join()
        at += received


def _end(process: Any) -> tuple[str, str]:
    """Return what became of the program that a process was busy with."""
    process.join(5)
    if process.is_alive():
        process.kill()
        return "over the limit", "it waits for something that does not come"
    if process.exitcode == -signal.SIGPROF:
        return "over the limit", "it takes more processor time"
    code = process.exitcode
    return "crashed", signal.Signals(-code).name if code and code < 0 else f"exit code {code}"


def report(found: Sequence[Verdict]) -> str:
    """Return how many programs had which outcome, why they were refused, and the ten slowest."""
    counts = Counter(verdict.outcome for verdict in found)
    lines = [f"{len(found)} programs: " + ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES)]
    reasons = Counter(re.sub(r"\d+", "N", v.reason.split("\n")[0]) for v in found if v.outcome == "refused")
    lines += [f"  refused {count} times: {reason}" for reason, count in reasons.most_common(10)]
    lines += ["slowest, in processor time:"]
    lines += [verdict.times() for verdict in sorted(found, key=lambda verdict: -verdict.total)[:10]]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Check programs as the command line says; return 1 if anything was wrong."""
    from tests.properties.kinds import KINDS

    parser = argparse.ArgumentParser(prog="python -m tests.properties.run", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seeds", default="0:100", metavar="FIRST:END")
    parser.add_argument("--mcpu", default=",".join(processors()), help="names, of which each program takes one in turn")
    parser.add_argument("--each", action="store_true", help="every program on every processor")
    parser.add_argument("--limit", type=float, default=120, help="processor seconds that a program may take")
    options = parser.parse_args(arguments)
    first, end = (int(part) for part in options.seeds.split(":"))
    names = options.mcpu.split(",")
    programs = [
        (seed, mcpu) for seed in range(first, end) for mcpu in (names if options.each else [names[seed % len(names)]])
    ]
    found = []
    begin = time.monotonic()
    for verdict in verdicts(KINDS[options.kind], programs, options.limit):
        found.append(verdict)
        if verdict.outcome not in GOOD:
            print(f"seed {verdict.seed} on {verdict.mcpu}: {verdict.outcome}: {verdict.reason}", flush=True)
        if len(found) % _A_PROCESS == 0:
            print(f"[{time.monotonic() - begin:.0f} s]\n{report(found)}", flush=True)
    print(report(found))
    return 0 if all(verdict.outcome in GOOD for verdict in found) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
