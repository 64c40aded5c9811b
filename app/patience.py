"""How long the server waits for a process of its own: what it waits for a processor does not count.

On a busy machine a process is slow, but not stuck.  Of the time that passes, only that counts in which the process, its
threads and its children either worked or wanted nothing to do: the kernel tells how long they were ready to run and had
no processor.  Where it does not tell, all time counts.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

log = logging.getLogger(__name__)

STEP_SECONDS = 0.25
"""How often the kernel is asked."""
WORD_SECONDS = 20.0
"""How long a process is waited for before the log says that the machine is busy, and how often it does."""


class Patience:
    """The time that a process may take, from now on.

    Parameters
    ----------
    seconds : float
        Without the time in which the process waits for a processor.
    pid : int
        The process; 0 where there is none to look at, so that all time counts.
    what : str, optional
        What is waited for, for the log.
    """

    def __init__(self, seconds: float, pid: int, what: str = "") -> None:
        self._left = seconds
        self._pid = pid
        self._what = what
        self._asked = self._word = time.monotonic()
        self._held = 0.0
        self._seen = _progress(pid)

    def step(self) -> float:
        """Count the time, and return the seconds after which to ask again; 0 when it is over."""
        now = time.monotonic()
        passed = now - self._asked
        if passed >= min(STEP_SECONDS, self._left):
            seen = _progress(self._pid)
            held = min(passed, held_back(self._seen, seen, passed))
            self._asked, self._seen = now, seen
            self._left -= passed - held
            self._held += held
            self._tell(now)
        return max(0.0, min(STEP_SECONDS, self._left))

    @property
    def over(self) -> bool:
        """Whether no time is left, as it was counted last."""
        return self._left <= 0

    def _tell(self, now: float) -> None:
        if self._what and now - self._word >= WORD_SECONDS:
            self._word = now
            log.warning(
                "waiting for %s; so far %.0f s it waited for a processor: the machine is busy", self._what, self._held
            )


class Progress(NamedTuple):
    """What the kernel says about a thread."""

    ran: int
    """Nanoseconds on a processor."""
    waited: int
    """Nanoseconds ready to run without one."""
    ready: bool
    """Whether it runs or is ready to."""


def held_back(before: Mapping[int, Progress], after: Mapping[int, Progress], passed: float) -> float:
    """Return how long nothing could go on for lack of a processor.

    A thread that is ready at both ends lacked one while it did not run, whatever the kernel adds up:
    it knows of a wait only when that ends, and not of what the host of a virtual machine takes away.  Of the threads
    that wanted to run for longest, the one counts that lacked least.

    Parameters
    ----------
    before, after : mapping of int to Progress
        Threads by their ids.
    passed : float
        Seconds between the two.
    """
    wanted: list[tuple[float, float]] = []
    for thread, now in after.items():
        then = before.get(thread, Progress(0, 0, False))
        ran = (now.ran - then.ran) / 1e9
        lacked = max(0.0, passed - ran) if then.ready and now.ready else (now.waited - then.waited) / 1e9
        wanted.append((ran + lacked, lacked))
    longest = max((whole for whole, _ in wanted), default=0.0)
    return min((lacked for whole, lacked in wanted if whole >= 0.9 * longest), default=0.0)


def _progress(pid: int) -> dict[int, Progress]:
    """Return what the kernel says about the threads of a process and its children; nothing where it does not tell."""
    threads: dict[int, Progress] = {}
    for thread, directory in _threads(pid):
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended, or this system has no such file
            with open(f"{directory}/schedstat", encoding="ascii") as file:
                ran, waited, _ = map(int, file.read().split())
            with open(f"{directory}/stat", encoding="utf-8", errors="replace") as file:
                state = file.read().rpartition(")")[2].split()[0]
            threads[thread] = Progress(ran, waited, state == "R")
    return threads


def _threads(pid: int) -> Iterator[tuple[int, str]]:
    """Yield the threads of a process and its children: id, and directory of the kernel's files about it."""
    processes = [pid] if pid else []
    while processes:
        tasks = f"/proc/{processes.pop()}/task"
        with contextlib.suppress(OSError, ValueError):
            for thread in os.listdir(tasks):
                yield int(thread), f"{tasks}/{thread}"
                with contextlib.suppress(OSError), open(f"{tasks}/{thread}/children", encoding="ascii") as file:
                    processes += map(int, file.read().split())


def run(
    command: Sequence[str], seconds: float, *, text: str | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end.

    Parameters
    ----------
    seconds : float
        How long it may take, without the time in which it waits for a processor.
    text : str, optional
        Its input.
    **options
        Of :class:`subprocess.Popen`.

    Raises
    ------
    subprocess.TimeoutExpired
        If it takes longer; it was killed.
    """
    with tempfile.TemporaryFile() as given:
        given.write((text or "").encode())
        given.seek(0)
        channels = {"stdin": given, "stdout": subprocess.PIPE, "encoding": "utf-8", "errors": "replace"}
        with subprocess.Popen(command, **{**channels, **options}) as process:  # type: ignore[call-overload]
            patience = Patience(seconds, process.pid)
            while True:
                try:
                    out, problems = process.communicate(timeout=max(patience.step(), 1e-3))
                except subprocess.TimeoutExpired:
                    if patience.over:
                        process.kill()
                        raise
                else:
                    return subprocess.CompletedProcess(command, process.returncode, out, problems)
