"""Measures a kernel: warm-up, repetitions, median and spread, checked against the unscheduled definition."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.runtime.timing.clock import Duration, is_disturbed, stopwatch

RUNG_SECONDS = 1.0
"""The time limit of a measurement, including the first call; slower kernels are called once."""
REPEAT_SECONDS = 0.01
MAX_REPEATS = 20
SETTLED_REPEATS, SETTLED_ERROR = 8, 0.01
"""After how many repeats no more are made, if the standard error of their median is at most so much of it: a tenth of
the difference that counts when times are compared."""
MEDIAN_ERROR = 0.93
"""The standard error of the median of normally distributed repeats, as a multiple of their interquartile range divided
by the square root of their number."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call, one value per repeat of ``number`` calls."""

    seconds: Sequence[float]
    number: int

    @property
    def median(self) -> float:
        """The median, in seconds."""
        return float(statistics.median(self.seconds))

    @property
    def is_disturbed(self) -> bool:
        """Whether other programs kept its threads from running."""
        return is_disturbed(self.seconds)

    @property
    def spread(self) -> float:
        """The interquartile range, in seconds."""
        if len(self.seconds) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return high - low


def time_call(call: Callable[[], object]) -> Duration:
    """Time one call."""
    return _time(call, 1)


def _time(call: Callable[[], object], number: int) -> Duration:
    """Return the time of one of several calls."""
    elapsed = stopwatch()
    for _ in range(number):
        call()
    return elapsed().per(number)


def time_calls(call: Callable[[], object], first: Duration | None = None) -> Timing:
    """Time a call in repeats that exceed the resolution of the clock, until they agree.

    Parameters
    ----------
    first : Duration, optional
        The time of a warm-up call; by default one is made.  For a slow kernel, it is the measurement.
    """
    if first is None:
        first = time_call(call)
    number = max(1, math.ceil(REPEAT_SECONDS / max(first.clock, 1e-7)))
    repeats = min(MAX_REPEATS, int((RUNG_SECONDS - first.clock) / max(first.clock * number, 1e-7)))
    if repeats < 2:
        return Timing([first], 1)
    times: list[Duration] = []
    while len(times) < repeats and not _is_settled(Timing(times, number)):
        times.append(_time(call, number))
    return Timing(times, number)


def _is_settled(timing: Timing) -> bool:
    """Whether more repeats would say the same."""
    if len(timing.seconds) < SETTLED_REPEATS or timing.is_disturbed:
        return False
    error = MEDIAN_ERROR * timing.spread / math.sqrt(len(timing.seconds))
    return error <= SETTLED_ERROR * timing.median


def time_rounds(
    calls: Sequence[Callable[[], object]], firsts: Sequence[Duration], seconds: float
) -> Iterator[list[Timing]]:
    """Time calls in rounds, in which each has its turn, and yield the times so far after every round.

    Parameters
    ----------
    firsts : sequence of Duration
        The times of a warm-up call of each.
    seconds : float
        About how long all rounds take by the clock; there are at least two.
    """
    numbers = [max(1, math.ceil(REPEAT_SECONDS / 2 / max(first.clock, 1e-7))) for first in firsts]
    taken = sum(first.clock * number for first, number in zip(firsts, numbers, strict=True))
    times: list[list[Duration]] = [[] for _ in calls]
    for _ in range(max(2, min(MAX_REPEATS, int(seconds / max(taken, 1e-7))))):
        for call, number, into in zip(calls, numbers, times, strict=True):
            into.append(_time(call, number))
        yield [Timing([*each], number) for each, number in zip(times, numbers, strict=True)]


def time_in_turns(calls: Sequence[Callable[[], object]], firsts: Sequence[Duration]) -> list[Timing]:
    """Time calls alternately, under the same conditions: as many repeats of each, in about a second for each.

    Parameters
    ----------
    firsts : sequence of Duration
        The times of a warm-up call of each; there is at least one.
    """
    *_, timings = time_rounds(calls, firsts, len(calls) * RUNG_SECONDS)
    return timings


@dataclass(frozen=True, slots=True)
class Check:
    """The deviation of a result from its reference."""

    ok: bool
    largest_error: float


def compare(actual: Sequence[Array], expected: Sequence[Array]) -> Check:
    """Compare outputs, with a tolerance for the reordering of long sums."""
    largest, ok = 0.0, True
    for a, e in zip(actual, expected, strict=True):
        if a.size == 0:
            continue
        if np.issubdtype(a.dtype, np.floating):
            wide_a, wide_e = a.astype(np.float64), e.astype(np.float64)
            same = (wide_a == wide_e) | (np.isnan(wide_a) & np.isnan(wide_e))
            with np.errstate(invalid="ignore"):
                difference = np.where(same, 0.0, np.abs(wide_a - wide_e))
            error = float(np.max(np.nan_to_num(difference, nan=np.inf, posinf=np.inf)))
            scale = float(np.nanmax(np.abs(np.where(np.isfinite(wide_e), wide_e, 0.0))))
            ok &= bool(np.all(difference <= RELATIVE[a.dtype.itemsize] * max(scale, 1e-30)))
        else:
            error = float(np.max(np.abs(a.astype(np.float64) - e.astype(np.float64))))
            ok &= error == 0.0
        largest = max(largest, error)
    return Check(ok, largest)


RELATIVE = {2: 2e-2, 4: 1e-4, 8: 1e-10}
"""The tolerance relative to the largest magnitude of the result, by the size of the float type."""
