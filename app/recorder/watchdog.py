"""Watches over native code, which no signal handler of Python's can interrupt."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Watchdog:
    """Barks from a thread of its own when a piece of work takes too long.

    Parameters
    ----------
    seconds : float
        How long a piece of work may take.
    bark : callable
        What to do then; called once, with what the piece was begun with.  The work is still going on, and does not
        end before ``bark`` has returned.
    """

    def __init__(self, seconds: float, bark: Callable[[int | None], None]) -> None:
        self._seconds = seconds
        self._bark = bark
        self._changed = threading.Condition()
        self._deadline: float | None = None
        self._line: int | None = None
        self._thread: threading.Thread | None = None

    def begin(self, line: int | None) -> None:
        """A piece of work begins, at a line of the script."""
        with self._changed:
            self._deadline, self._line = time.monotonic() + self._seconds, line
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
                self._thread.start()
            self._changed.notify()

    def end(self) -> None:
        """The piece of work ended."""
        with self._changed:
            self._deadline = None

    @contextmanager
    def watching(self, line: int | None) -> Iterator[None]:
        """Watch over the block."""
        self.begin(line)
        try:
            yield
        finally:
            self.end()

    def _watch(self) -> None:
        with self._changed:
            while True:
                left = None if self._deadline is None else self._deadline - time.monotonic()
                if left is not None and left <= 0:
                    self._bark(self._line)
                    return
                self._changed.wait(left)
