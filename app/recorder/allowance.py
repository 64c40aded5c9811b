"""Time limits of scripts, which are extended while other processes occupy the processors."""

from __future__ import annotations

import time


class Allowance:
    """The time that a piece of work may take, from now on.

    It may take ``seconds`` by the clock.  If this process had a processor for less than that until then, the machine is
    busy with others, or the work only waits: it goes on until it had as much, at most until ``patience`` is over.

    Parameters
    ----------
    seconds : float
    patience : float
        At least ``seconds``; as much is by the clock alone.

    Attributes
    ----------
    seconds : float
    """

    def __init__(self, seconds: float, patience: float) -> None:
        self.seconds = seconds
        self._patience = patience
        self._began = time.monotonic()
        self._began_processor = time.process_time()

    @property
    def elapsed(self) -> float:
        """Seconds by the clock since it began."""
        return time.monotonic() - self._began

    @property
    def processor(self) -> float:
        """Seconds that the threads of this process had a processor since it began."""
        return time.process_time() - self._began_processor

    @property
    def starved(self) -> bool:
        """Whether it had a processor for so little of its time that this, and not its work, ended it."""
        return self.processor < self.seconds * (1.0 if self._patience > self.seconds else 0.5)

    @property
    def left(self) -> float:
        """Seconds until it can be over at the earliest; 0 or less when it is over."""
        elapsed = self.elapsed
        if elapsed < self.seconds:
            return self.seconds - elapsed
        return min(self._patience - elapsed, self.seconds - self.processor)
