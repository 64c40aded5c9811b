"""How many students of classes sit behind an address now, so that a school is given as many places as it needs."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import NamedTuple


class _Seat(NamedTuple):
    address: str
    until: float


class Seats:
    """The students whose pages reported to this server a short while ago, by the address that they reported from.

    Parameters
    ----------
    clock : callable
        Returns seconds.
    seconds : float
        How long a report holds the seat.
    most : int
        How many seats one address has at most, whatever classes it brings.
    """

    def __init__(self, clock: Callable[[], float], seconds: float, most: int) -> None:
        self._clock = clock
        self._seconds = seconds
        self._most = most
        self._seats: OrderedDict[tuple[str, bytes], _Seat] = OrderedDict()
        """By class and student, the one that lapses first at the beginning."""
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, name: str, key: bytes, address: str) -> None:
        """Note that a student of the class ``name`` reported from an address."""
        with self._lock:
            old = self._seats.pop((name, key), None)
            if old is not None:
                self._free(old)
            self._seats[name, key] = _Seat(address, self._clock() + self._seconds)
            self._counts[address] += 1
            self._free_lapsed()

    def at(self, address: str) -> int:
        """Return the number of students who sit behind an address."""
        with self._lock:
            self._free_lapsed()
            return min(self._counts[address], self._most)

    def _free_lapsed(self) -> None:
        now = self._clock()
        while self._seats and next(iter(self._seats.values())).until < now:
            self._free(self._seats.popitem(last=False)[1])

    def _free(self, seat: _Seat) -> None:
        self._counts[seat.address] -= 1
        if not self._counts[seat.address]:
            del self._counts[seat.address]
