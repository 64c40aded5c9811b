"""Recent slot usage of clients, in slot seconds with exponential decay.

Schedulers of time-sharing systems call this decay usage: J. L. Hellerstein, "Achieving Service Rate Objectives with
Decay Usage Scheduling", IEEE Transactions on Software Engineering 19(8), 1993.
"""

from __future__ import annotations

import math

HALF_LIFE_SECONDS = 60.0
"""Time after which half of what was used is forgotten."""


class SlotTime:
    """The slot seconds that a client, or one of its tabs, has recently used.

    Parameters
    ----------
    now : float
        Seconds on the queue's clock.
    seconds : float
        Use to begin with.
    """

    def __init__(self, now: float, seconds: float = 0.0) -> None:
        self.held = 0
        self._seconds = seconds
        self._settled = now

    def at(self, now: float) -> float:
        """Return the seconds used, those of slots that are still held included.

        With a rate of ``held`` seconds a second and decay, the sum is an integral with a closed form, so that it does
        not depend on how often one asks.
        """
        left: float = 0.5 ** ((now - self._settled) / HALF_LIFE_SECONDS)
        return self._seconds * left + self.held * (1.0 - left) * HALF_LIFE_SECONDS / math.log(2.0)

    def idle(self, now: float) -> float:
        """Return the seconds since a slot was last taken or given back; 0 while one is held."""
        return 0.0 if self.held else now - self._settled

    def hold(self, now: float, slots: int) -> None:
        """Hold this many more slots from now on, or fewer where it is negative."""
        self._seconds, self._settled = self.at(now), now
        self.held += slots
