"""Rate limits of clients."""

from __future__ import annotations

import time
from dataclasses import dataclass

from limits import RateLimitItem
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from app.errors import Busy


class Rate:
    """A rate limit per client, over a sliding window.

    Parameters
    ----------
    item : RateLimitItem
        The limit and its window.
    unit : str
        Plural name of the counted unit, for messages.
    """

    def __init__(self, item: RateLimitItem, unit: str) -> None:
        self._item = item
        self._unit = unit
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    def check(self, client: str, cost: int = 1) -> None:
        """Raise an error if charging a client would exceed the limit, without charging.

        Raises
        ------
        Busy
            If that exceeds the limit; with the seconds after which to retry.
        """
        if cost and not self._limiter.test(self._item, client, cost=cost):
            raise self._exceeded(client)

    def charge(self, client: str, cost: int = 1) -> None:
        """Charge a client.

        Raises
        ------
        Busy
            If that exceeds the limit; with the seconds after which to retry.
        """
        if cost and not self._limiter.hit(self._item, client, cost=cost):
            raise self._exceeded(client)

    @property
    def policy(self) -> str:
        """The limit as the field ``RateLimit-Policy`` says it: ``"requests";q=3000;w=60``."""
        return f'"{self._unit}";q={self._item.amount};w={self._item.get_expiry()}'

    def standing(self, client: str) -> str:
        """Return what is left to a client as the field ``RateLimit`` says it: ``"requests";r=2999;t=60``."""
        stats = self._limiter.get_window_stats(self._item, client)
        return f'"{self._unit}";r={max(0, stats.remaining)};t={max(0, round(stats.reset_time - time.time()))}'

    def of(self, client: str) -> ClientRate:
        """Return the rate limit of one client."""
        return ClientRate(self, client)

    def _exceeded(self, client: str) -> Busy:
        reset = self._limiter.get_window_stats(self._item, client).reset_time
        limit = f"at most {self._item.amount:,} {self._unit} a {self._item.GRANULARITY.name}"
        return Busy(f"too many {self._unit}", expected=limit, retry_after=max(1, round(reset - time.time())))


@dataclass(frozen=True)
class ClientRate:
    """The rate limit of one client."""

    rate: Rate
    client: str

    def check(self, cost: int = 1) -> None:
        """Like :meth:`Rate.check`."""
        self.rate.check(self.client, cost)

    def charge(self, cost: int = 1) -> None:
        """Like :meth:`Rate.charge`."""
        self.rate.charge(self.client, cost)
