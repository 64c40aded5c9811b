"""Which of two kernels is faster: alternating turns, until the order is certain or the difference does not matter.

On a machine that others use, the time of a kernel is what it takes and what the others take from it: caches, memory
bandwidth, clock frequency.  Two kernels that take turns share that.  So what is compared is the ratio of turns that
follow each other, whose logarithms are averaged; a ratio is certain when it is several standard errors from 1.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

_CERTAIN = 3.0
"""Standard errors."""
_TELLING = 1.3
"""The order is certain where all turns of one kernel take this much longer than all of the other, if only three."""


@dataclass(frozen=True)
class Patience:
    """How long two kernels are compared."""

    turn: float = 0.001
    """Seconds that a turn lasts at least."""
    most: int = 24
    """Turns of each kernel at most."""
    seconds: float = 1.5
    """Seconds after which no turn begins."""
    matters: float = 0.01
    """The share of the time that a difference must have."""


@dataclass(frozen=True)
class Pairing:
    """What turns have shown.

    Attributes
    ----------
    ratio : float
        The time of the kernel by that of the reference.
    error : float
        The standard error of its logarithm.
    seconds, reference : float
        Of a call of each, the median of the turns.
    times : tuple of float
        Seconds of a call of the kernel in each of its turns.
    """

    ratio: float
    error: float
    seconds: float
    reference: float
    times: tuple[float, ...] = ()

    @property
    def turns(self) -> int:
        """How often each had its turn."""
        return len(self.times)

    @property
    def is_faster(self) -> bool:
        """Whether the kernel certainly takes less time than the reference."""
        return -math.log(self.ratio) > _CERTAIN * self.error


def paired(
    kernel: Callable[[], object],
    reference: Callable[[], object],
    patience: Patience | None = None,
    clock: Callable[[], float] = time.thread_time,
    between: Callable[[], object] = lambda: None,
) -> Pairing:
    """Compare a kernel with a reference.

    Parameters
    ----------
    clock
        What a turn is timed by: processor time of this thread, or for several threads ``time.perf_counter``.
    between
        Called before each turn, e.g. to flush caches.
    """
    patience = patience or Patience()
    began, runs = clock(), (kernel, reference)

    def turn(which: int, calls: int) -> float:
        between()
        started = clock()
        for _ in range(calls):
            runs[which]()
        return max(clock() - started, 1e-9) / calls

    calls = []
    for which in (0, 1):  # which also warms up
        first = turn(which, 1)
        calls.append(1 if first > patience.turn else max(1, math.ceil(patience.turn / min(first, turn(which, 1)))))
    times: tuple[list[float], list[float]] = ([], [])
    while True:
        for which in (0, 1) if len(times[0]) % 2 else (1, 0):
            times[which].append(turn(which, calls[which]))
        logarithms = [math.log(a / b) for a, b in zip(*times, strict=True)]
        if len(logarithms) < 3:
            continue
        mean = statistics.fmean(logarithms)
        error = statistics.stdev(logarithms) / math.sqrt(len(logarithms))
        is_certain = len(logarithms) >= 4 and abs(mean) > _CERTAIN * error
        is_alike = len(logarithms) >= 4 and abs(mean) + _CERTAIN * error < patience.matters
        is_plain = min(times[0]) > _TELLING * max(times[1]) or min(times[1]) > _TELLING * max(times[0])
        if is_certain or is_alike or is_plain or len(logarithms) >= patience.most:
            break
        if clock() - began > patience.seconds:
            break
    return Pairing(math.exp(mean), error, statistics.median(times[0]), statistics.median(times[1]), tuple(times[0]))
