"""Rate limits: how much of something a client may use over a time."""

from __future__ import annotations

import time

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

    def charge(self, client: str, cost: int = 1) -> None:
        """Count a client's use.

        Raises
        ------
        Busy
            It would exceed the limit; carries the seconds after which to retry.
        """
        if cost and not self._limiter.hit(self._item, client, cost=cost):
            reset = self._limiter.get_window_stats(self._item, client).reset_time
            most = f"at most {self._item.amount:,} {self._unit} a {self._item.GRANULARITY.name}"
            raise Busy(f"too many {self._unit}", expected=most, retry_after=max(1, round(reset - time.time())))
