"""The same work, asked for by several at one time, is done once: a class that opens its teacher's link."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class _Flight(Generic[Result]):
    def __init__(self) -> None:
        self.landed = threading.Event()
        self.results: list[Result] = []
        """One, or none where the work failed for whoever did it."""


class Flights(Generic[Result]):
    """Work in progress, by what it is about."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[Result]] = {}
        self._lock = threading.Lock()

    def join(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Do the work, or wait for whoever does it now.

        If that one fails, which may be for reasons of its own, the next of those who wait does it.
        """
        while True:
            with self._lock:
                flight = self._flights.get(key)
                leads = flight is None
                if flight is None:
                    flight = self._flights[key] = _Flight()
            if not leads:
                flight.landed.wait()
                if flight.results:
                    return flight.results[0]
                continue
            try:
                result = work()
                flight.results.append(result)
                return result
            finally:
                with self._lock:
                    del self._flights[key]
                flight.landed.set()
