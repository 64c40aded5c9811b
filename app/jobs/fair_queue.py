"""A queue for a limited number of slots that serves clients in rotation.

With thirty requests of one client waiting, the single request of another is still served next.
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


class Ticket:
    """A request's place in the queue: it waits, holds a slot, and releases it.  As a context manager it releases."""

    def __init__(self, queue: FairQueue, client: str, tab: str) -> None:
        self._queue = queue
        self.client = client
        self.tab = tab
        self.granted = False
        self.ended = False
        self.began = 0.0

    def places(self, poll_seconds: float | None = None) -> Iterator[int]:
        """Yield the place in the queue (1 is next) whenever it changes, until a slot is granted.

        Parameters
        ----------
        poll_seconds
            Yield the unchanged place at least this often.

        Raises
        ------
        Superseded
            Another thread ended the ticket while it waited.
        """
        return self._queue._places(self, poll_seconds)

    def wait(self) -> Self:
        """Wait until a slot is granted."""
        for _ in self.places():
            continue
        return self

    def end(self) -> None:
        """Release the slot, or leave the queue; calling it again does nothing."""
        self._queue._end(self)

    def __enter__(self) -> Self:
        return self.wait()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.end()


class FairQueue:
    """Grants a number of slots to clients in rotation.

    Parameters
    ----------
    capacity
        Slots.
    waiting
        Requests that may wait, all clients together.
    waiting_per_client
        Requests that one client may have waiting.
    typical_seconds
        First estimate of how long a slot is held, a running average from then on; gives the retry time of refusals.
    """

    def __init__(self, capacity: int, *, waiting: int, waiting_per_client: int, typical_seconds: float = 1.0) -> None:
        self.capacity = capacity
        self._max_waiting = waiting
        self._max_waiting_per_client = waiting_per_client
        self._typical = typical_seconds
        self._queues: OrderedDict[str, deque[Ticket]] = OrderedDict()
        self._held: Counter[str] = Counter()
        self._changed = threading.Condition()

    def enter(self, client: str, tab: str = "") -> Ticket:
        """Join the queue.

        Parameters
        ----------
        client : str
            Clients are served in rotation by this name.
        tab : str
            The client's page that asks; only for :meth:`places_of`.

        Raises
        ------
        Busy
            Too many requests wait already, of this client or in all; carries the seconds after which to retry.
        """
        with self._changed:
            waiting = self._waiting()
            mine = len(self._queues.get(client, ()))
            retry = max(1, math.ceil(self._typical * (waiting + 1) / self.capacity))
            if mine >= self._max_waiting_per_client:
                raise Busy(f"{mine} of your requests are waiting already", retry_after=retry)
            if waiting >= self._max_waiting:
                raise Busy(f"the server is busy: {waiting} requests are waiting", retry_after=retry)
            ticket = Ticket(self, client, tab)
            self._queues.setdefault(client, deque()).append(ticket)
            self._grant()
            return ticket

    @property
    def held(self) -> int:
        """Slots that are held now."""
        with self._changed:
            return self._held.total()

    @property
    def waiting(self) -> int:
        """Requests that wait now."""
        with self._changed:
            return self._waiting()

    def places_of(self, client: str, tab: str = "") -> list[int]:
        """Return the places of a client's waiting tickets, nearest first; only those of ``tab`` if it is given."""
        with self._changed:
            mine = [ticket for ticket in self._queues.get(client, ()) if tab in ("", ticket.tab)]
            return [self._place(ticket) for ticket in mine]

    def _waiting(self) -> int:
        return sum(len(queue) for queue in self._queues.values())

    def _grant(self) -> None:
        """Grant free slots: to the client that holds fewest, and among equals to the one served longest ago."""
        while self._queues and self._held.total() < self.capacity:
            client = min(self._queues, key=lambda name: self._held[name])
            queue = self._queues[client]
            ticket = queue.popleft()
            if queue:
                self._queues.move_to_end(client)
            else:
                del self._queues[client]
            self._held[client] += 1
            ticket.granted = True
            ticket.began = time.monotonic()
        self._changed.notify_all()

    def _end(self, ticket: Ticket) -> None:
        with self._changed:
            if ticket.ended:
                return
            ticket.ended = True
            if ticket.granted:
                self._held[ticket.client] -= 1
                self._held += Counter()  # drops the clients that hold no slot
                if ticket.client in self._queues:
                    self._queues.move_to_end(ticket.client)
                elapsed = time.monotonic() - ticket.began
                self._typical += _SMOOTHING * (elapsed - self._typical)
            else:
                queue = self._queues[ticket.client]
                queue.remove(ticket)
                if not queue:
                    del self._queues[ticket.client]
            self._grant()

    def _place(self, ticket: Ticket) -> int:
        """Return the 1-based place: clients are served in rotation, those that hold no slot first."""
        depth = self._queues[ticket.client].index(ticket)
        place, before = depth + 1, True
        for client in sorted(self._queues, key=lambda name: self._held[name]):
            queue = self._queues[client]
            if client == ticket.client:
                before = False
            else:
                place += min(len(queue), depth + 1 if before else depth)
        return place

    def _places(self, ticket: Ticket, poll_seconds: float | None) -> Iterator[int]:
        last = 0
        while True:
            with self._changed:
                if ticket.ended:
                    raise Superseded("given up while it waited in the queue")
                if ticket.granted:
                    return
                place = self._place(ticket)
                if place == last:
                    notified = self._changed.wait(poll_seconds)
                    if notified:
                        continue
            last = place
            yield place
