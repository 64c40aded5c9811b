"""Rate limits of clients."""

from __future__ import annotations

import time
from dataclasses import dataclass

from limits import RateLimitItem
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from app.errors import Busy


class Rate:
    """Counts the use of each client over a sliding window.

    Parameters
    ----------
    item : RateLimitItem
        The limit and its window.
    unit : str
        Name of what is counted, in the plural.
    """

    def __init__(self, item: RateLimitItem, unit: str) -> None:
        self._item = item
        self._unit = unit
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    def check(self, client: str, cost: int = 1) -> None:
        """Reject a use that a client could not be charged with now, without counting it.

        Raises
        ------
        Busy
            It would exceed the limit; carries the seconds after which to retry.
        """
        if cost and not self._limiter.test(self._item, client, cost=cost):
            raise self._exceeded(client)

    def charge(self, client: str, cost: int = 1) -> None:
        """Count a client's use.

        Raises
        ------
        Busy
            It would exceed the limit; carries the seconds after which to retry.
        """
        if cost and not self._limiter.hit(self._item, client, cost=cost):
            raise self._exceeded(client)

    def of(self, client: str) -> ClientRate:
        """Return the rate of one client."""
        return ClientRate(self, client)

    def _exceeded(self, client: str) -> Busy:
        reset = self._limiter.get_window_stats(self._item, client).reset_time
        limit = f"at most {self._item.amount:,} {self._unit} a {self._item.GRANULARITY.name}"
        return Busy(f"too many {self._unit}", expected=limit, retry_after=max(1, round(reset - time.time())))


@dataclass(frozen=True)
class ClientRate:
    """How much one client may still use."""

    rate: Rate
    client: str

    def check(self, cost: int = 1) -> None:
        """As :meth:`Rate.check`."""
        self.rate.check(self.client, cost)

    def charge(self, cost: int = 1) -> None:
        """As :meth:`Rate.charge`."""
        self.rate.charge(self.client, cost)
