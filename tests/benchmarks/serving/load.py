"""How busy the machine was during a measurement, and how much of that was others'."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from tests.benchmarks.serving.processes import TICKS, processor_seconds


@dataclass(frozen=True)
class Load:
    """Shares of all the machine's processor time, 0 to 1."""

    busy: float
    others: float
    """Of processes that do not descend from this one."""

    def __str__(self) -> str:
        cores = os.cpu_count()
        return f"{cores} cores {self.busy:.0%} busy, {self.others:.0%} of their time with processes of others"


def _busy_seconds() -> float:
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _iowait, irq, softirq, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + softirq) / TICKS


class LoadMeter:
    """Measures the load from its construction on; the processes of a benchmark descend from the one that makes it."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._busy = _busy_seconds()
        self._own = processor_seconds(os.getpid())

    def read(self) -> Load:
        """Return the load since the construction; call it before the benchmark's processes end."""
        available = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        busy = _busy_seconds() - self._busy
        own = processor_seconds(os.getpid()) - self._own
        return Load(busy / available, max(0.0, busy - own) / available)
