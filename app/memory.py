"""Memory budgets of the server by purpose, as shares of ``STRATA_MEMORY``.

Whatever a client or a child sends is claimed from the budget of its purpose before it is kept, and released when it is
dropped.  A claim that does not fit is refused at once, so that memory stays bounded whoever asks.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections import Counter
from types import TracebackType

from app.errors import Busy, TooLarge

MIB = 1 << 20
SHARES = {
    "code": 20,
    "workers": 42,
    "bodies": 12,
    "incoming": 8,
    "cache": 6,
    "links": 6,
    "events": 3,
}
"""Percent of the server's memory by purpose; what is left is slack of the allocator.

``code`` is the interpreter with its libraries, ``workers`` what all processes that render may take together.
"""
CLIENT_SHARE = 0.5
"""Part of a budget that one client may hold: its address may be a whole class."""
RETRY_SECONDS = 5
LARGE_BYTES = 256 << 10
"""Size from which a block of memory is given back to the system when it is freed."""
M_MMAP_THRESHOLD = -3
"""The parameter's number in ``malloc.h``."""


def give_freed_memory_back() -> None:
    """Let large blocks go back to the system when they are freed, in this process for good.

    glibc raises the size from which it does so to that of the largest block that was freed, 32 MiB at most; what is
    smaller then stays with the arena of the thread that asked for it.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none, and no such habit
        if mallopt is not None:
            mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)


class Budget:
    """Bytes that may be held for one purpose at one time, by all clients and by each.

    Parameters
    ----------
    what : str
        What is held, in the plural, for messages: ``request bodies``.
    total : int
        Bytes for all clients together.
    per_client : int, optional
        Bytes for one client; by default its share of the total.
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
        """Bytes that are claimed now."""
        with self._lock:
            return self._held

    def claim(self, size: int, client: str = "") -> Claim:
        """Claim bytes for a client, an empty name for the server itself.

        Raises
        ------
        TooLarge
            So many bytes are more than one client may ever hold.
        Busy
            They are not free now.
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
    """Bytes of a budget that are held until they are released; a context manager.

    Parameters
    ----------
    budget : Budget
    client : str
        Who holds them; empty for the server itself.
    """

    def __init__(self, budget: Budget, client: str = "") -> None:
        self._budget = budget
        self._client = client
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes held."""
        return self._size

    def grow(self, size: int) -> None:
        """Claim more bytes.

        Raises
        ------
        TooLarge
            It would be more than one client may ever hold.
        Busy
            They are not free now; what was claimed before stays claimed.
        """
        self._budget._take(size, self._size, self._client)
        self._size += size

    def release(self) -> None:
        """Give all bytes back; once more does nothing."""
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
        Bytes that the server and its workers may take together.

    Attributes
    ----------
    bodies : Budget
        Request bodies, and workspaces that wait for their turn after their request was answered.
    incoming : Budget
        Messages of children, until their answers are complete and sent.
    events : Budget
        Events of ladders.
    links : int
        Bytes of links that are opened at one time.
    cache : int
        Bytes of answers that are kept for the next request.
    workers : int
        Bytes that all processes that render may take together.
    """

    def __init__(self, total: int) -> None:
        share = {purpose: total * percent // 100 for purpose, percent in SHARES.items()}
        self.bodies = Budget("request bodies", share["bodies"])
        self.incoming = Budget("answers", share["incoming"])
        self.events = Budget("events of ladders", share["events"])
        self.links = share["links"]
        self.cache = share["cache"]
        self.workers = share["workers"]
