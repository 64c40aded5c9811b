"""Which of two kernels is faster: alternating turns, until the order is certain or the difference does not matter.

On a machine that others use, the time of a kernel is what it takes and what the others take from it: caches, memory
bandwidth, clock frequency.  Two kernels that take turns share that.  So what is compared is the ratio of turns that
follow each other, whose logarithms are averaged; a ratio is certain when it is several standard errors from 1, the more
the fewer turns the error was estimated from (Student's distribution).  Both kernels have the same conditions, or the
difference between these is found: each has turns of about the same length, and its first calls, which fetch its code
and touch its memory, count in none, unless they take as long as there is patience: then they are all.

References
----------
M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions", 1964, 26.7.5: quantiles of Student's distribution.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

_CERTAIN = 3.0
"""Standard errors, where these are known."""
_TELLING = 1.3
"""A kernel is certainly slower where its turns, if only three, all take this much longer than most of the reference."""
_LONG, _ERROR_OF_LONG = 0.6, 0.01
"""The share of the patience after which a call of each is all, and the error of the logarithm of their ratio."""
_SLOW = 100
"""How many turns' time a first call takes of a kernel that is too slow for a second one."""


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
        return -math.log(self.ratio) > _margin(self.error, self.turns)


def _margin(error: float, count: int) -> float:
    """Return how far a mean of so many logarithms is from the true one at most, given its estimated error."""
    z, freedom = _CERTAIN, max(count - 1, 1)
    first, second = (z**3 + z) / (4 * freedom), (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return (z + first + second) * error


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

    firsts = [turn(which, 1) for which in (0, 1)]
    if sum(firsts) > _LONG * patience.seconds:
        return Pairing(firsts[0] / firsts[1], _ERROR_OF_LONG, firsts[0], firsts[1], (firsts[0],))
    calls = [
        math.ceil(patience.turn / turn(which, 1)) if 0 < first < _SLOW * patience.turn else 1
        for which, first in enumerate(firsts)
    ]
    times: tuple[list[float], list[float]] = ([], [])
    while True:
        for which in (0, 1) if len(times[0]) % 2 else (1, 0):
            times[which].append(turn(which, calls[which]))
        logarithms = [math.log(a / b) for a, b in zip(*times, strict=True)]
        if len(logarithms) < 3:
            continue
        mean = statistics.fmean(logarithms)
        error = statistics.stdev(logarithms) / math.sqrt(len(logarithms))
        margin = _margin(error, len(logarithms))
        is_certain, is_alike = abs(mean) > margin, abs(mean) + margin < patience.matters
        is_slower = min(times[0]) > _TELLING * statistics.median(times[1])
        if is_certain or is_alike or is_slower or len(logarithms) >= patience.most:
            break
        if clock() - began > patience.seconds:
            break
    return Pairing(math.exp(mean), error, statistics.median(times[0]), statistics.median(times[1]), tuple(times[0]))
