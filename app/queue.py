"""Turns: who may use something scarce now, who waits, and at which place.

Clients are served in rotation, whatever number of requests each has waiting, so that thirty requests of one do not
stand before the single one of another.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from app.errors import Busy, Superseded

_SMOOTHING = 0.2


class Turn:
    """One request's claim: waiting, then held, then given back.  A context manager that gives back."""

    def __init__(self, turns: Turns, client: str, tab: str) -> None:
        self._turns = turns
        self.client = client
        self.tab = tab
        self.granted = False
        self.ended = False
        self.began = 0.0

    def places(self, poll_seconds: float | None = None) -> Iterator[int]:
        """Yield the place in the queue (1 is next) whenever it changes, until the turn has come.

        Parameters
        ----------
        poll_seconds
            Yield the unchanged place at least so often, too.

        Raises
        ------
        Superseded
            The turn was given back by another thread while it waited.
        """
        return self._turns._places(self, poll_seconds)

    def wait(self) -> Self:
        """Wait until the turn has come."""
        for _ in self.places():
            continue
        return self

    def end(self) -> None:
        """Give the turn back, or leave the queue; again is harmless."""
        self._turns._end(self)

    def __enter__(self) -> Self:
        return self.wait()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.end()


class Turns:
    """A number of equal places, given to clients in rotation.

    Parameters
    ----------
    capacity
        Turns held at one time.
    waiting
        Turns that may wait, all clients together.
    waiting_per_client
        Turns that one client may have waiting.
    typical_seconds
        First guess of how long a turn is held; learnt from then on, for the retry time told to those sent away.
    """

    def __init__(self, capacity: int, *, waiting: int, waiting_per_client: int, typical_seconds: float = 1.0) -> None:
        self.capacity = capacity
        self._most = waiting
        self._most_per_client = waiting_per_client
        self._typical = typical_seconds
        self._queues: OrderedDict[str, deque[Turn]] = OrderedDict()
        self._held: Counter[str] = Counter()
        self._changed = threading.Condition()

    def enter(self, client: str, tab: str = "") -> Turn:
        """Join the queue.

        Parameters
        ----------
        client : str
            Whom turns are given to in rotation.
        tab : str
            Which of the client's pages asks; only for :meth:`places_of`.

        Raises
        ------
        Busy
            Too many wait already, of this client or in all; carries the seconds after which to try again.
        """
        with self._changed:
            waiting = self._waiting()
            mine = len(self._queues.get(client, ()))
            retry = max(1, math.ceil(self._typical * (waiting + 1) / self.capacity))
            if mine >= self._most_per_client:
                raise Busy(f"{mine} of your requests are waiting already", retry_after=retry)
            if waiting >= self._most:
                raise Busy(f"the server is busy: {waiting} requests are waiting", retry_after=retry)
            turn = Turn(self, client, tab)
            self._queues.setdefault(client, deque()).append(turn)
            self._grant()
            return turn

    @property
    def held(self) -> int:
        """Turns that are held now."""
        with self._changed:
            return self._held.total()

    @property
    def waiting(self) -> int:
        """Turns that wait now."""
        with self._changed:
            return self._waiting()

    def places_of(self, client: str, tab: str = "") -> list[int]:
        """Return the places of a client's turns that wait, the nearest first; of one tab where it is named."""
        with self._changed:
            mine = [turn for turn in self._queues.get(client, ()) if tab in ("", turn.tab)]
            return [self._place(turn) for turn in mine]

    def _waiting(self) -> int:
        return sum(len(queue) for queue in self._queues.values())

    def _grant(self) -> None:
        """Hand out what is free: to the client that holds least, and among equals to the one served longest ago."""
        while self._queues and self._held.total() < self.capacity:
            client = min(self._queues, key=lambda name: self._held[name])
            queue = self._queues[client]
            turn = queue.popleft()
            if queue:
                self._queues.move_to_end(client)
            else:
                del self._queues[client]
            self._held[client] += 1
            turn.granted = True
            turn.began = time.monotonic()
        self._changed.notify_all()

    def _end(self, turn: Turn) -> None:
        with self._changed:
            if turn.ended:
                return
            turn.ended = True
            if turn.granted:
                self._held[turn.client] -= 1
                self._held += Counter()  # drops the clients that hold none
                if turn.client in self._queues:
                    self._queues.move_to_end(turn.client)
                elapsed = time.monotonic() - turn.began
                self._typical += _SMOOTHING * (elapsed - self._typical)
            else:
                queue = self._queues[turn.client]
                queue.remove(turn)
                if not queue:
                    del self._queues[turn.client]
            self._grant()

    def _place(self, turn: Turn) -> int:
        """How many turns come up to and with this one: clients are served in rotation, those that hold none first."""
        depth = self._queues[turn.client].index(turn)
        place, before = depth + 1, True
        for client in sorted(self._queues, key=lambda name: self._held[name]):
            queue = self._queues[client]
            if client == turn.client:
                before = False
            else:
                place += min(len(queue), depth + 1 if before else depth)
        return place

    def _places(self, turn: Turn, poll_seconds: float | None) -> Iterator[int]:
        last = 0
        while True:
            with self._changed:
                if turn.ended:
                    raise Superseded("given up while it waited for its turn")
                if turn.granted:
                    return
                place = self._place(turn)
                if place == last:
                    notified = self._changed.wait(poll_seconds)
                    if notified:
                        continue
            last = place
            yield place
