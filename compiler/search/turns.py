"""Whose round is next, where several searches share their trials."""

from __future__ import annotations

from collections.abc import Callable

STRATEGIES = ("gradient", "round-robin")
"""The one of which most is expected, or each in turn."""
_STALE, _GAINED = 0.5, 0.99
"""What a share of the time counts after each round that did not bring it below so much of it."""


class Turns:
    """The turns of so many searches; each has a round before ``gradient`` chooses."""

    def __init__(self, count: int, strategy: str) -> None:
        self._strategy = strategy
        self._rounds, self._promise, self._is_open = [0] * count, [1.0] * count, [True] * count

    def next(self, share: Callable[[int], float]) -> int | None:
        """Return the number of the search that is next, of the ``share`` of the time that each has; None at the end."""
        going = [at for at, is_open in enumerate(self._is_open) if is_open]
        fewest = min(going, key=self._rounds.__getitem__, default=None)
        if fewest is None or self._strategy == "round-robin" or not self._rounds[fewest]:
            return fewest
        return max(going, key=lambda at: share(at) * self._promise[at])

    def ended(self, at: int, before: float, after: float, goes_on: bool) -> None:
        """Note a round, the best seconds before and after it, and whether there is more to search."""
        self._rounds[at] += 1
        self._promise[at] *= 1.0 if after < _GAINED * before else _STALE
        self._is_open[at] = goes_on
