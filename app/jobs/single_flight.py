"""Concurrent requests for the same work share one execution of it: a class opening its teacher's link compiles once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class _Call(Generic[Result]):
    def __init__(self) -> None:
        self.done = threading.Event()
        self.results: list[Result] = []
        """One result, or none if the work raised."""


class SingleFlight(Generic[Result]):
    """Work in progress, by key."""

    def __init__(self) -> None:
        self._calls: dict[Hashable, _Call[Result]] = {}
        self._lock = threading.Lock()

    def join(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Return the result of ``work``, or of the same work that another thread is doing now.

        If the other thread's work raises, which may be for reasons of its own, one of the waiting threads does it.

        Parameters
        ----------
        key : hashable
            Identifies the work.
        work : callable
            Computes the result, without arguments.
        """
        while True:
            with self._lock:
                call = self._calls.get(key)
                leads = call is None
                if call is None:
                    call = self._calls[key] = _Call()
            if not leads:
                call.done.wait()
                if call.results:
                    return call.results[0]
                continue
            try:
                result = work()
                call.results.append(result)
                return result
            finally:
                with self._lock:
                    del self._calls[key]
                call.done.set()
