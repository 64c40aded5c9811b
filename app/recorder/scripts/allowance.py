"""Time limits of scripts, which are extended while other processes occupy the processors."""

from __future__ import annotations

import contextlib
import os
import time

from app.protocol import STARVING
from app.sandbox.handler import STATISTICS


class Allowance:
    """A time limit, starting now.

    The limit is ``seconds`` of wall-clock time.  If the process has used less CPU time by then, because the machine is
    busy or the process waits, it is extended until that much CPU time is used, but at most to ``patience``, in which
    the time does not count that its main thread waited for a processor, up to ``STARVING`` times as long: while there
    is still time to send what was seen.

    Parameters
    ----------
    patience : float
        At least ``seconds``; if equal, only the wall-clock time counts.
    """

    def __init__(self, seconds: float, patience: float) -> None:
        self.seconds = seconds
        self._patience = patience
        self._began = time.monotonic()
        self._began_processor = time.process_time()
        self._began_waited = waited()

    @property
    def elapsed(self) -> float:
        """Elapsed wall-clock time in seconds."""
        return time.monotonic() - self._began

    @property
    def processor(self) -> float:
        """CPU time of this process in seconds."""
        return time.process_time() - self._began_processor

    @property
    def lacked(self) -> float:
        """Seconds in which the main thread waited for a processor."""
        return waited() - self._began_waited

    @property
    def starved(self) -> bool:
        """Whether it ran out of time for lack of CPU time."""
        return self.processor < self.seconds * (1.0 if self._patience > self.seconds else 0.5)

    @property
    def may_succeed(self) -> bool:
        """Whether another try may come to the end: not after all the CPU time that the script may use."""
        return self.starved and self.lacked > self.elapsed / 2

    @property
    def left(self) -> float:
        """Seconds until the earliest possible end; not positive when it is over."""
        elapsed = self.elapsed
        if elapsed < self.seconds:
            return self.seconds - elapsed
        longest = min(self._patience + self.lacked, STARVING * self._patience)
        return min(longest - elapsed, self.seconds - self.processor)


def waited() -> float:
    """Return how many seconds the main thread waited for a processor so far; 0 where the kernel does not tell."""
    for source in _SOURCES:
        with contextlib.suppress(OSError, ValueError, IndexError):
            return int(_read(source).split()[1]) / 1e9
    return 0.0


_SOURCES: tuple[int | str, ...] = (STATISTICS, "/proc/self/schedstat")
"""What the kernel says of the main thread: the file that a sandboxed child is given, or that of any other process."""


def _read(source: int | str) -> bytes:
    if isinstance(source, int):
        return os.pread(source, 100, 0)
    with open(source, "rb") as file:
        return file.read()
