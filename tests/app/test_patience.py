"""A process that is slow because the machine is busy is waited for; one that is stuck is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app import patience
from app.patience import Patience, Progress, held_back

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="the kernel does not tell")

HOGS = 4
WORK = """
import os, sys, time
os.sched_setaffinity(0, {cpu})
while time.process_time() < {seconds}:
    pass
print("done", flush=True)
"""


def the_cpu() -> int:
    return min(os.sched_getaffinity(0))


@contextmanager
def hogs() -> Iterator[None]:
    """Keep one CPU busy, whose share for another process is a small one."""
    script = f"import os; os.sched_setaffinity(0, {{{the_cpu()}}})\nwhile True: pass"
    busy = [subprocess.Popen([sys.executable, "-S", "-c", script]) for _ in range(HOGS)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def python(script: str) -> list[str]:
    return [sys.executable, "-S", "-c", script]


def test_a_busy_machine_does_not_use_up_the_time() -> None:
    work = WORK.format(cpu=f"{{{the_cpu()}}}", seconds=0.5)
    with hogs():
        began = time.monotonic()
        done = patience.run(python(work), 1.2)
        took = time.monotonic() - began
    assert done.stdout == "done\n"
    assert took > 1.2, "it was waited for longer than its time"


@pytest.mark.parametrize("script", ["import time; time.sleep(60)", "while True: pass"], ids=["stuck", "endless"])
def test_who_has_a_processor_and_does_not_end_is_not_waited_for(script: str) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        patience.run(python(script), 0.3)


def test_what_a_child_waits_for_a_processor_does_not_count_either() -> None:
    child = WORK.format(cpu=f"{{{the_cpu()}}}", seconds=0.5)
    parent = f"import subprocess, sys; print(subprocess.run([sys.executable, '-S', '-c', {child!r}]).returncode)"
    with hogs():
        assert patience.run(python(parent), 1.2).stdout.splitlines() == ["done", "0"]


def test_a_stopped_process_is_stuck() -> None:
    with subprocess.Popen(python("import time; time.sleep(60)")) as process:
        os.kill(process.pid, signal.SIGSTOP)
        waiting, began = Patience(0.5, process.pid), time.monotonic()
        while step := waiting.step():
            time.sleep(step)
            assert time.monotonic() - began < 30
        process.kill()
    assert waiting.over


def test_without_a_process_all_time_counts() -> None:
    waiting = Patience(0.05, 0)
    assert 0 < waiting.step() <= 0.05
    time.sleep(0.06)
    assert waiting.step() == 0
    assert waiting.over


SECOND = 10**9
IDLE, READY = Progress(5, 7, False), Progress(5, 7, True)


@pytest.mark.parametrize(
    ("before", "after", "held"),
    [
        ([READY], [Progress(5 + SECOND, 7, True)], 0.0),
        ([READY], [Progress(5 + SECOND // 10, 7 + SECOND // 2, True)], 0.9),
        ([READY], [READY], 1.0),
        ([IDLE], [IDLE], 0.0),
        ([IDLE], [Progress(5 + SECOND // 10, 7 + SECOND // 2, False)], 0.5),
        ([IDLE, READY], [Progress(6, 8, False), READY], 1.0),
        ([READY, READY], [READY, Progress(5 + SECOND, 7, True)], 0.0),
        ([], [Progress(0, SECOND // 2, True)], 0.5),
    ],
    ids=["works", "hardly works", "waits", "sleeps", "waits for a time", "one sleeps", "one works", "new"],
)
def test_time_is_told_apart(before: list[Progress], after: list[Progress], held: float) -> None:
    threads = dict(enumerate(before)), dict(enumerate(after))
    assert held_back(*threads, 1.0) == pytest.approx(held, abs=1e-6)


def test_what_is_sent_on_its_input_arrives_whole() -> None:
    text = "x" * 1_000_000
    script = "import sys, time; time.sleep(0.6); print(len(sys.stdin.read()))"
    assert patience.run(python(script), 20.0, text=text).stdout == "1000000\n"
