"""The callers that wait for a job, which is cancelled when none is left.

A server creates a :class:`Caller` for each request and runs the request's thread inside of :func:`calling`; blocking
operations are wrapped in :func:`waiting`.  Without a caller, as in tests, nothing is cancelled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from app.logs import request_id


class Caller:
    """A client that waits for an answer, and may disconnect before.

    Parameters
    ----------
    request : str
        Id of its request; by default that of the current one.
    """

    def __init__(self, request: str = "") -> None:
        self.request = request or request_id.get()
        self._cancels: list[Callable[[], object]] = []
        self._gone = False
        self._lock = threading.Lock()

    @property
    def gone(self) -> bool:
        """Whether the client has disconnected."""
        return self._gone

    def leave(self) -> None:
        """Record that the client has disconnected, and cancel what it waits for; idempotent."""
        with self._lock:
            self._gone = True
            cancels, self._cancels = self._cancels, []
        for cancel in cancels:
            cancel()

    @contextmanager
    def waiting(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Mark the thread as blocked on what ``cancel`` cancels, for servers to override."""
        with self.cancelling(cancel):
            yield

    @contextmanager
    def cancelling(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Call ``cancel`` if the client disconnects within the context or has already done so.

        Parameters
        ----------
        cancel : callable
            Cancels the operation; called without arguments from any thread, at most once, and must not block.
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
    """Run the context on behalf of a caller."""
    token, named = _current.set(caller), request_id.set(caller.request)
    try:
        yield
    finally:
        _current.reset(token)
        request_id.reset(named)


@contextmanager
def waiting(cancel: Callable[[], object]) -> Iterator[None]:
    """Wrap a blocking operation of the current caller.

    Its thread does not count as working in the meantime, and ``cancel`` is called if the caller disconnects.

    Parameters
    ----------
    cancel : callable
        Cancels the operation; called without arguments from any thread, at most once, and must not block.

    Raises
    ------
    Busy
        If too many requests are waiting.
    """
    caller = _current.get()
    if caller is None:
        yield
    else:
        with caller.waiting(cancel):
            yield
