"""Where the processor time of a compilation goes, by pass."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compiler.ir.instrument import PassInstrument


class PassTimes(PassInstrument):
    """Adds up the processor time of each pass, without the passes that it carries out itself.

    A loaded machine changes it little: it is that of this thread alone.
    """

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._running: list[str] = []
        self._since = time.thread_time()

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Account for what is no pass under a name."""
        self._begin(name)
        try:
            yield
        finally:
            self._end()

    def run_before_pass(self, mod: Any, info: Any) -> None:
        self._begin(info.name)

    def run_after_pass(self, mod: Any, info: Any) -> None:
        self._end()

    def pass_failed(self, mod: Any, info: Any, error: BaseException) -> None:
        self._end()

    def _begin(self, name: str) -> None:
        self._account()
        self._running.append(name)

    def _end(self) -> None:
        self._account()
        self._running.pop()

    def _account(self) -> None:
        now = time.thread_time()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now
