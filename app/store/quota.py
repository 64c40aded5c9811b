"""Storage quotas of clients."""

from __future__ import annotations

from typing import Protocol


class Quota(Protocol):
    """How much a client may still store."""

    def check(self, cost: int) -> None:
        """Raise an error if so many bytes more were too many."""

    def charge(self, cost: int) -> None:
        """Count bytes that are stored; raises an error if they are too many."""
