"""Memory budgets of the server by purpose, as shares of ``STRATA_MEMORY``.

Data received from clients and children is claimed from the budget of its purpose before it is stored, and released
afterwards.  A claim that exceeds the budget is rejected immediately, which bounds the server's memory.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections import Counter
from types import TracebackType

from app.errors import Busy, TooLarge

MIB = 1 << 20
SHARES = {"code": 20, "workers": 42, "bodies": 12, "incoming": 8, "cache": 6, "links": 6, "events": 3}
"""Percentage of the server's memory by purpose; the rest is slack for the allocator.

``code`` is the interpreter with its libraries, ``workers`` all rendering processes together.
"""
CLIENT_SHARE = 0.5
"""Fraction of a budget that one client, whose address a classroom may share, can claim."""
RETRY_SECONDS = 5
LARGE_BYTES = 256 << 10
"""Block size from which freed memory is returned to the system."""
M_MMAP_THRESHOLD = -3
"""The mallopt parameter, from ``malloc.h``."""


def give_freed_memory_back() -> None:
    """Make malloc return large blocks to the system when they are freed, for the rest of the process.

    By default glibc raises this threshold to the size of the largest freed block, up to 32 MiB; smaller blocks then
    stay in the arena of the thread that allocated them.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
        if mallopt is not None:
            mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)


class Budget:
    """A limit on the bytes claimed for a purpose, in total and per client.

    Parameters
    ----------
    what : str
        Plural name of the claimed objects for messages, e.g. ``request bodies``.
    total : int
        Total number of bytes.
    per_client : int, optional
        Bytes per client; by default :data:`CLIENT_SHARE` of the total.
    """

    def __init__(self, what: str, total: int, per_client: int | None = None) -> None:
        self.what = what
        self.total = total
        self.per_client = int(total * CLIENT_SHARE) if per_client is None else per_client
        self._held = 0
        self._by_client: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """The number of claimed bytes."""
        with self._lock:
            return self._held

    def claim(self, size: int, client: str = "") -> Claim:
        """Claim bytes for a client, or for the server itself if the name is empty.

        Raises
        ------
        TooLarge
            If the size exceeds the limit per client.
        Busy
            If the bytes are not available now.
        """
        claim = Claim(self, client)
        claim.grow(size)
        return claim

    def _take(self, size: int, already: int, client: str) -> None:
        limit = self.per_client if client else self.total
        if already + size > limit:
            raise TooLarge(f"{self.what} of {already + size:,} bytes", expected=f"at most {limit:,} bytes")
        with self._lock:
            if client and self._by_client[client] + size > limit:
                raise Busy(
                    f"too many {self.what} of this address are in progress",
                    expected=f"at most {limit:,} bytes at one time",
                    retry_after=RETRY_SECONDS,
                )
            if self._held + size > self.total:
                raise Busy(
                    f"too many {self.what} are in progress",
                    expected=f"at most {self.total:,} bytes at one time",
                    retry_after=RETRY_SECONDS,
                )
            self._held += size
            self._by_client[client] += size

    def _give_back(self, size: int, client: str) -> None:
        with self._lock:
            self._held -= size
            self._by_client[client] -= size
            if not self._by_client[client]:
                del self._by_client[client]


class Claim:
    """Claimed bytes of a budget, until they are released; a context manager.

    Parameters
    ----------
    client : str
        The client; empty for the server itself.
    """

    def __init__(self, budget: Budget, client: str = "") -> None:
        self._budget = budget
        self._client = client
        self._size = 0

    @property
    def size(self) -> int:
        """Number of claimed bytes."""
        return self._size

    def grow(self, size: int) -> None:
        """Claim more bytes.

        Raises
        ------
        TooLarge
            If the total exceeds the limit per client.
        Busy
            If the bytes are not available now; the existing claim remains.
        """
        self._budget._take(size, self._size, self._client)
        self._size += size

    def release(self) -> None:
        """Release all bytes; idempotent."""
        size, self._size = self._size, 0
        if size:
            self._budget._give_back(size, self._client)

    def __enter__(self) -> Claim:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class Memory:
    """The budgets of a server.

    Parameters
    ----------
    total : int
        Memory limit of the server and its workers in bytes.

    Attributes
    ----------
    bodies : Budget
        Request bodies, and queued workspaces whose request was already answered.
    incoming : Budget
        Messages of children, until their answers are sent.
    events : Budget
        Events of ladders.
    links : int
        Total bytes of links being opened concurrently.
    cache : int
        Bytes of cached answers.
    workers : int
        Memory limit of all rendering processes.
    """

    def __init__(self, total: int) -> None:
        share = {purpose: total * percent // 100 for purpose, percent in SHARES.items()}
        self.bodies = Budget("request bodies", share["bodies"])
        self.incoming = Budget("answers", share["incoming"])
        self.events = Budget("events of ladders", share["events"])
        self.links = share["links"]
        self.cache = share["cache"]
        self.workers = share["workers"]
