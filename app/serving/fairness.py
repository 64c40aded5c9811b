"""Fair scheduling of request threads among clients."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, OrderedDict, deque


class FairSemaphore:
    """A semaphore with a limit per client, which favours the waiting client that holds fewest slots.

    Not thread-safe: only the event loop uses it.

    Parameters
    ----------
    capacity : int
        Number of slots.
    per_client : int
        Maximum number of slots that one client holds.
    """

    def __init__(self, capacity: int, per_client: int) -> None:
        self._capacity = capacity
        self._per_client = per_client
        self._held: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def acquire(self, client: str) -> None:
        """Wait for a slot for ``client``; cancelling leaves the queue."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(place)
        self._grant()
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
                self._leave(client, place)
            else:
                self.release(client)
            raise

    def release(self, client: str) -> None:
        """Release a slot of ``client``."""
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


class Quota:
    """A thread-safe count of the units that each client holds of a limited resource.

    Parameters
    ----------
    capacity : int
        Maximum number of units that all clients hold together.
    per_client : int
        Maximum number of units that one client holds.
    """

    def __init__(self, capacity: int, per_client: int) -> None:
        self.capacity = capacity
        self.per_client = per_client
        self._held: Counter[str] = Counter()
        self._lock = threading.Lock()

    def acquire(self, client: str) -> bool:
        """Acquire a unit for ``client`` without waiting; return whether that succeeded."""
        with self._lock:
            if self._held.total() >= self.capacity or self._held[client] >= self.per_client:
                return False
            self._held[client] += 1
            return True

    def release(self, client: str) -> None:
        """Release a unit of ``client``."""
        with self._lock:
            self._held[client] -= 1
            if not self._held[client]:
                del self._held[client]
