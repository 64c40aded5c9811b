"""Measurement of this machine's memory bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from compiler.ir.error import ArgumentError
from compiler.runtime.timing.clock import Duration, time_together
from compiler.tir.access_trace.cache import CacheLevel

MIN_BYTES, MAX_BYTES = 32 << 20, 192 << 20
"""Bounds on the size of each of the two arrays."""
REPEATS = 5
TRIPS = 3
"""Transfers per copied byte: the read, the read for ownership of the destination line, and the write."""


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """A measured bandwidth, and the bytes that were transferred between the caches and memory."""

    seconds: Duration
    bytes: int

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.bytes / self.seconds


def measure_bandwidth(threads: int = 1, caches: Sequence[CacheLevel] = ()) -> Bandwidth:
    """Copy an array that exceeds the caches with all threads, and return the fastest of several copies.

    Each copied byte counts three times, as a store first reads the cache line that it writes to.  On a processor that
    avoids this read, the bandwidth is overestimated by up to half.  The arrays are twice as large as the largest of
    ``caches``, within their bounds.
    """
    if threads < 1:
        raise ArgumentError(f"measure_bandwidth: threads must be positive, got {threads}")
    largest = max((level.size for level in caches), default=0)
    part = min(MAX_BYTES, max(MIN_BYTES, 2 * largest)) // 8 // threads
    pairs = [(np.ones(part), np.zeros(part)) for _ in range(threads)]
    best = min(time_together([partial(np.copyto, copy, source) for source, copy in pairs]) for _ in range(REPEATS))
    return Bandwidth(best, TRIPS * 8 * part * threads)
