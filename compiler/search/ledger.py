"""Where the time of a search went."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

KINDS = ("deriving", "fitting", "building", "measuring")


class Ledger:
    """Processor seconds by what they were spent on."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(KINDS, 0.0)
        """``deriving`` candidates and reading their loops, ``fitting`` the cost model and asking it, and ``building``
        and ``measuring`` in the processes that do so."""
        self._open: list[str] = []
        self._since = time.process_time()

    @contextmanager
    def spending(self, kind: str) -> Iterator[None]:
        """Count the time of a block; what blocks inside count is theirs alone."""
        self._settle()
        self._open.append(kind)
        try:
            yield
        finally:
            self._settle()
            self._open.pop()

    def _settle(self) -> None:
        now = time.process_time()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def add(self, other: Ledger) -> None:
        """Count what another ledger has, too."""
        for kind, seconds in other.seconds.items():
            self.seconds[kind] += seconds

    def row(self) -> str:
        """Return the seconds as columns of ten characters."""
        return "".join(f"{self.seconds[kind]:10.1f}" for kind in KINDS)

    @property
    def total(self) -> float:
        """All seconds."""
        return sum(self.seconds.values())
