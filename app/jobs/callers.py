"""The callers that wait for a job, which is cancelled when none is left.

A server makes a :class:`Caller` for each request and lets the request's thread run inside :func:`calling`; whatever
waits there does so inside :func:`waiting`.  Without a caller, as in a test, everything is waited for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Caller:
    """A client that waits for an answer, and may go before it comes."""

    def __init__(self) -> None:
        self._cancels: list[Callable[[], object]] = []
        self._gone = False
        self._lock = threading.Lock()

    @property
    def gone(self) -> bool:
        """Whether the client has gone."""
        return self._gone

    def leave(self) -> None:
        """Note that the client has gone, and give up what it waits for; once more does nothing."""
        with self._lock:
            self._gone = True
            cancels, self._cancels = self._cancels, []
        for cancel in cancels:
            cancel()

    @contextmanager
    def waiting(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Wait inside the block for what ``cancel`` gives up; servers note here that the thread does not work."""
        with self.cancelling(cancel):
            yield

    @contextmanager
    def cancelling(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Call ``cancel`` if the client goes during the block, at once if it has gone already.

        Parameters
        ----------
        cancel : callable
            Gives up what is waited for, without arguments; any thread calls it, at most once, and it must not wait.
        """
        with self._lock:
            gone = self._gone
            if not gone:
                self._cancels.append(cancel)
        if gone:
            cancel()
        try:
            yield
        finally:
            with self._lock:
                if cancel in self._cancels:
                    self._cancels.remove(cancel)


_current: ContextVar[Caller | None] = ContextVar("caller", default=None)


@contextmanager
def calling(caller: Caller) -> Iterator[None]:
    """Let what the block does be done for a caller."""
    token = _current.set(caller)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def waiting(cancel: Callable[[], object]) -> Iterator[None]:
    """Wait for something inside the block, on behalf of the present caller.

    While the block waits its thread does not count as working, so that others may work; ``cancel`` is called if the
    caller goes.

    Parameters
    ----------
    cancel : callable
        Gives up what is waited for, without arguments; any thread calls it, at most once, and it must not wait.

    Raises
    ------
    Busy
        Too many requests wait already.
    """
    caller = _current.get()
    if caller is None:
        yield
    else:
        with caller.waiting(cancel):
            yield
