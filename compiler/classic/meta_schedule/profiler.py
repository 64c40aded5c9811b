"""``tvm.meta_schedule.profiler``: where the time of tuning goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from compiler.search.ledger import Ledger

_CURRENT: list[Profiler] = []


class Profiler:
    """Counts seconds by what they were spent on while its ``with`` statement runs, by the clock.

    What is tuned meanwhile counts what it takes of processors for ``deriving`` candidates, ``fitting`` the model,
    ``building`` and ``measuring``.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._began = self._total = 0.0

    def get(self) -> dict[str, float]:
        """Return the seconds of all, ``Total``, and of each part."""
        return {"Total": self._total, **self._seconds}

    def table(self) -> str:
        """Return the minutes of each part as a table."""
        rows = [
            f"{number or '':>3} | {name:20} | {seconds / 60:10.4f} | {100 * seconds / (self._total or 1):10.4f}"
            for number, (name, seconds) in enumerate(self.get().items())
        ]
        return "\n".join([f" ID | {'Name':20} | Time (min) | Percentage", "-" * 52, *rows])

    def add(self, name: str, seconds: float) -> None:
        """Count seconds of a part."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def __enter__(self) -> Profiler:
        self._began = time.perf_counter()
        _CURRENT.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _CURRENT.remove(self)
        self._total += time.perf_counter() - self._began

    @staticmethod
    def current() -> Profiler | None:
        """Return the one of the innermost ``with`` statement, None outside of any."""
        return _CURRENT[-1] if _CURRENT else None

    @staticmethod
    @contextmanager
    def timeit(name: str) -> Iterator[None]:
        """Count the time of a block."""
        began = time.perf_counter()
        try:
            yield
        finally:
            if (profiler := Profiler.current()) is not None:
                profiler.add(name, time.perf_counter() - began)


def profile(ledger: Ledger) -> None:
    """Let the current profiler, if there is one, count what a search took."""
    if (profiler := Profiler.current()) is not None:
        for name, seconds in ledger.seconds.items():
            profiler.add(name, seconds)
