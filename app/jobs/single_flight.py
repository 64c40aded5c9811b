"""Deduplication of concurrent requests, as when a class opens its teacher's link."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from app.errors import Superseded
from app.jobs.callers import waiting

Result = TypeVar("Result")


class _Call(Generic[Result]):
    def __init__(self) -> None:
        self.results: list[Result] = []
        """The result as a single element; empty if the work raised an error."""
        self.done = False
        self.followers: list[threading.Event] = []


class SingleFlight(Generic[Result]):
    """Work in progress, by key."""

    def __init__(self) -> None:
        self._calls: dict[Hashable, _Call[Result]] = {}
        self._lock = threading.Lock()

    def join(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Return the result of ``work``, or share that of another thread with the same key.

        If the other thread's work raises an error, which may be specific to it, one of the waiting threads retries.

        Parameters
        ----------
        key : hashable
            Key of the work.
        work : callable
            Computes the result, without arguments.

        Raises
        ------
        Superseded
            If the client disconnected while waiting for another thread.
        """
        while True:
            finished = threading.Event()
            with self._lock:
                call = self._calls.get(key)
                if call is not None:
                    call.followers.append(finished)
                else:
                    own = self._calls[key] = _Call()
            if call is None:
                return self._lead(key, own, work)
            with waiting(finished.set):
                finished.wait()
            if call.results:
                return call.results[0]
            if not call.done:
                raise Superseded("no request is waiting for this any more")

    def _lead(self, key: Hashable, call: _Call[Result], work: Callable[[], Result]) -> Result:
        try:
            result = work()
            call.results.append(result)
            return result
        finally:
            with self._lock:
                del self._calls[key]
                call.done = True
            for finished in call.followers:
                finished.set()
