"""Prints the listings and drawings of a session, each once and within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from app.artifacts import Drawing, Listing

T = TypeVar("T")


class Memo(Generic[T]):
    """What was made of objects, by identity."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[object, T]] = {}

    def get(self, thing: object) -> T | None:
        """Return what was made of ``thing``; None for a new one."""
        entry = self._made.get(id(thing))
        return entry[1] if entry is not None else None

    def make(self, thing: object, make: Callable[[], T]) -> T:
        """Return what was made of ``thing``, making it now if it is new."""
        entry = self._made.get(id(thing))
        if entry is None:
            entry = self._made[id(thing)] = (thing, make())
        return entry[1]


class ArtifactPrinter:
    """Prints within a time, and keeps the listings and drawings by their keys.

    Parameters
    ----------
    job_seconds : float
        How long the job may take by the clock, from now on.

    Attributes
    ----------
    unprinted : int
        Texts for which there was no time, since :meth:`begin`.
    hurried : bool
        Whether the job's end left no time for one of them, and the thread mostly waited for a core before.
    """

    def __init__(self, job_seconds: float) -> None:
        self.listings: dict[str, Listing] = {}
        self.drawings: dict[str, Drawing] = {}
        self.unprinted = 0
        self.hurried = False
        self._end_of_job = time.perf_counter() + job_seconds
        self._until = self._until_by_clock = 0.0
        self._began = self._began_by_clock = 0.0

    def begin(self, seconds: float) -> None:
        """Let nothing new be printed after so many seconds of work.

        Waiting for a core does not count while the job may go on: what a graph shows does not depend on how many others
        use the machine.
        """
        self._began, self._began_by_clock = time.thread_time(), time.perf_counter()
        self._until = self._began + seconds
        self._until_by_clock = max(self._began_by_clock + seconds, self._end_of_job)
        self.unprinted = 0
        self.hurried = False

    def once(self, memo: Memo[T], thing: object, make: Callable[[], T]) -> T | None:
        """Return what ``make`` prints of ``thing``, printed once; None, and counted, where there is no time for it."""
        printed = memo.get(thing)
        if printed is not None:
            return printed
        worked, now = time.thread_time(), time.perf_counter()
        if worked >= self._until or now >= self._until_by_clock:
            waited_mostly = worked - self._began < (now - self._began_by_clock) / 2
            self.unprinted += 1
            self.hurried = self.hurried or (worked < self._until and waited_mostly)
            return None
        return memo.make(thing, make)

    def keep(self, listing: Listing) -> Listing:
        """Keep a listing; return the one of the same key that is kept."""
        return self.listings.setdefault(listing.key, listing)
