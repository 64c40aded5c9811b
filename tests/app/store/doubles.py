"""Links and quotas as the tests of the stores use them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from app.errors import Busy
from app.store.links import Links, SavedLink, SharedState

CONTENT_BYTES = 1 << 20


class Meter:
    """A quota that counts what it is charged with, and refuses beyond a limit."""

    def __init__(self, limit: int = 1 << 40) -> None:
        self.limit = limit
        self.charged = 0

    def check(self, cost: int) -> None:
        if self.charged + cost > self.limit:
            raise Busy("too many bytes")

    def charge(self, cost: int) -> None:
        self.check(cost)
        self.charged += cost


class Store(Links):
    """Links without a quota."""

    def __init__(self, url: str, compiler: str = "1.0", cpu: str = "Some CPU", backups: Path | None = None) -> None:
        super().__init__(url, compiler, cpu, content_bytes=CONTENT_BYTES, backups=backups)

    def create(  # type: ignore[override]
        self, state: SharedState, quota: Meter | None = None, outputs: Mapping[str, str] | None = None
    ) -> SavedLink:
        return super().create(state, quota or Meter(), outputs)
