"""Fair scheduling of request threads among clients."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, OrderedDict, deque


class Turns:
    """A number of turns, given to clients in rotation.  Only the event loop's thread uses it.

    Parameters
    ----------
    capacity : int
        Turns that may be held at one time.
    per_client : int
        Turns that one client may hold.
    """

    def __init__(self, capacity: int, per_client: int) -> None:
        self._capacity = capacity
        self._per_client = per_client
        self._held: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def take(self, client: str) -> None:
        """Wait for a turn of ``client``; cancelling gives the place in the queue up."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(place)
        self._grant()
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
                self._leave(client, place)
            else:
                self.give_back(client)
            raise

    def give_back(self, client: str) -> None:
        """End a turn of ``client``."""
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]
        self._grant()

    def _leave(self, client: str, place: asyncio.Future[None]) -> None:
        queue = self._queues.get(client)
        if queue is not None and place in queue:
            queue.remove(place)
            if not queue:
                del self._queues[client]

    def _grant(self) -> None:
        while self._held.total() < self._capacity:
            ready = [name for name in self._queues if self._held[name] < self._per_client]
            if not ready:
                return
            client = min(ready, key=lambda name: self._held[name])
            queue = self._queues[client]
            place = queue.popleft()
            if queue:
                self._queues.move_to_end(client)
            else:
                del self._queues[client]
            if not place.done():
                self._held[client] += 1
                place.set_result(None)


class ClientQuota:
    """Counts what each client holds of something that is limited.

    Parameters
    ----------
    capacity : int
        What all clients together may hold.
    per_client : int
        What one client may hold.
    """

    def __init__(self, capacity: int, per_client: int) -> None:
        self.capacity = capacity
        self.per_client = per_client
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, client: str) -> bool:
        """Take one for ``client``, and return whether there was one."""
        with self._lock:
            if self._held.total() >= self.capacity or self._held[client] >= self.per_client:
                return False
            self._held[client] += 1
            return True

    def give_back(self, client: str) -> None:
        """Give one of ``client`` back."""
        with self._lock:
            self._held[client] -= 1
            if not self._held[client]:
                del self._held[client]
