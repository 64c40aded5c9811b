"""When long jobs may begin: while short ones are waited for one at a time, with rests that shrink as they wait."""

from __future__ import annotations

REST = 8.0
"""How long the next long job is held back at first, as a multiple of the time that the last one took."""
OVERDUE = 1.5
"""After how many times their patience long jobs begin beside each other, however many short ones wait."""


class LongJobs:
    """Says when the next long job of a queue may begin.

    Shortest jobs first serves most people soonest, but would starve the others.

    Parameters
    ----------
    patience : float
        Seconds after which a long job waits for no rest.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._last_end = self._last_took = 0.0

    def ended(self, began: float, now: float) -> None:
        """Note that one has ended."""
        self._last_end, self._last_took = now, now - began

    def may_begin(self, running: int, waited: float, now: float, *, hurried: bool, slots: int) -> bool:
        """Whether one that has waited for some seconds may take a free slot.

        Parameters
        ----------
        running : int
            How many run.
        hurried : bool
            Whether short jobs need the processors.
        slots : int
            The slots of the queue, half of which long jobs may have.
        """
        if not hurried or waited > OVERDUE * self._patience:
            return running < max(1, slots // 2)
        rest = REST * self._last_took * max(0.0, 1.0 - waited / self._patience)
        return not running and now >= self._last_end + rest
