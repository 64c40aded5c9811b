"""Concurrency limits by size: a bound on the total bytes of work in progress."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import Unavailable


class ByteSemaphore:
    """A semaphore that counts bytes.

    Parameters
    ----------
    total : int
        Number of bytes; a larger request acquires all of them.
    patience_seconds : float
        Timeout for acquiring.
    """

    def __init__(self, total: int, patience_seconds: float) -> None:
        self.total = total
        self._patience_seconds = patience_seconds
        self._held = 0
        self._freed = threading.Condition()

    @property
    def held(self) -> int:
        """The number of bytes that are acquired."""
        with self._freed:
            return self._held

    @contextmanager
    def acquire(self, size: int) -> Iterator[None]:
        """Acquire bytes for the duration of a block, waiting until they are free.

        Raises
        ------
        Unavailable
            If the wait times out.
        """
        size = min(size, self.total)
        with self._freed:
            if not self._freed.wait_for(lambda: self._held + size <= self.total, self._patience_seconds):
                raise Unavailable(
                    "too many large links are being saved or opened", retry_after=max(1, round(self._patience_seconds))
                )
            self._held += size
        try:
            yield
        finally:
            with self._freed:
                self._held -= size
                self._freed.notify_all()
