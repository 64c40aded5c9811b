"""Storage quotas of clients."""

from __future__ import annotations

from typing import Protocol


class Quota(Protocol):
    """The remaining storage quota of a client."""

    def check(self, cost: int) -> None:
        """Raise an error if that many bytes exceed the quota."""

    def charge(self, cost: int) -> None:
        """Deduct stored bytes; raise an error if they exceed the quota."""
