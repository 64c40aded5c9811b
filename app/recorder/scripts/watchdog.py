"""A watchdog for native code, which Python's signal handlers cannot interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.recorder.scripts.allowance import Allowance


class Watchdog:
    """Barks from a thread of its own when a piece of work takes too long.

    Parameters
    ----------
    seconds : float
        How long a piece of work may take.
    bark : callable
        What to do then; called once, with what the piece was begun with.  The work is still going on, and does not
        end before ``bark`` has returned.
    patience : float, optional
        How long it may take where it had a processor for less than ``seconds``; by default no longer.
    """

    def __init__(self, seconds: float, bark: Callable[[int | None], None], patience: float | None = None) -> None:
        self._seconds = seconds
        self._patience = seconds if patience is None else patience
        self._bark = bark
        self._changed = threading.Condition()
        self._allowance: Allowance | None = None
        self._line: int | None = None
        self._thread: threading.Thread | None = None

    def begin(self, line: int | None) -> None:
        """A piece of work begins, at a line of the script."""
        with self._changed:
            self._allowance, self._line = Allowance(self._seconds, self._patience), line
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
                self._thread.start()
            self._changed.notify()

    def end(self) -> None:
        """The piece of work ended."""
        with self._changed:
            self._allowance = None

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
                left = None if self._allowance is None else self._allowance.left
                if left is not None and left <= 0:
                    self._bark(self._line)
                    return
                self._changed.wait(left)
