"""Recent slot usage of clients, in slot seconds with exponential decay.

This is the decay usage of time-sharing schedulers; see J. L. Hellerstein, "Achieving Service Rate Objectives with Decay
Usage Scheduling", IEEE Transactions on Software Engineering 19(8), 1993.
"""

from __future__ import annotations

import math

HALF_LIFE_SECONDS = 60.0
"""Half-life of past use."""


class SlotTime:
    """The recent slot seconds of a client, or of one of its tabs.

    Parameters
    ----------
    now : float
        Time of the queue's clock in seconds.
    seconds : float
        Initial use.
    """

    def __init__(self, now: float, seconds: float = 0.0) -> None:
        self.held = self._charged = 0
        self._seconds = seconds
        self._settled = now

    def at(self, now: float) -> float:
        """Return the decayed seconds used, including those of slots still held that are charged.

        With so many charged slots, use is an integral with a closed form, so the result does not depend on how often it
        is computed.
        """
        left: float = 0.5 ** ((now - self._settled) / HALF_LIFE_SECONDS)
        return self._seconds * left + self._charged * (1.0 - left) * HALF_LIFE_SECONDS / math.log(2.0)

    def idle(self, now: float) -> float:
        """Return the seconds since a slot was last acquired or released; 0 while one is held."""
        return 0.0 if self.held else now - self._settled

    def hold(self, now: float, slots: int, *, charged: bool = True) -> None:
        """Add to the number of held slots; negative to release some."""
        self._seconds, self._settled = self.at(now), now
        self.held += slots
        self._charged += slots if charged else 0
