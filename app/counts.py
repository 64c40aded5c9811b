"""What has happened since this process started, counted where it happens; ``/metrics`` tells it."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping


class Count:
    """How often something happened, by kind.

    Parameters
    ----------
    name
        As Prometheus names it, without ``_total``.
    text
        What is counted.
    labels
        Names of what kinds are told apart by; their values must be few, whatever clients send.
    """

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self.name = name
        self.text = text
        self.labels = labels
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._lock = threading.Lock()

    def add(self, *values: str) -> None:
        """Count one more of the kind with these labels."""
        with self._lock:
            self._counts[values] += 1

    @property
    def values(self) -> Mapping[tuple[str, ...], int]:
        """The counts by the labels' values."""
        with self._lock:
            return dict(self._counts)


class Durations:
    """How long something took, by kind.

    Parameters
    ----------
    name, text
        As in :class:`Count`.
    label
        Name of what kinds are told apart by.
    """

    BOUNDS = (0.01, 0.05, 0.25, 1.0, 5.0, 25.0, 120.0)
    """Upper bounds in seconds of the durations that are counted together."""

    def __init__(self, name: str, text: str, label: str) -> None:
        self.name = name
        self.text = text
        self.label = label
        self._kinds: dict[str, tuple[list[int], float]] = {}
        self._lock = threading.Lock()

    def add(self, kind: str, seconds: float) -> None:
        """Count a duration."""
        with self._lock:
            counts, total = self._kinds.get(kind, ([0] * (len(self.BOUNDS) + 1), 0.0))
            counts[bisect_left(self.BOUNDS, seconds)] += 1
            self._kinds[kind] = counts, total + seconds

    @property
    def values(self) -> Mapping[str, tuple[list[int], float]]:
        """How many durations each bound is the next one of, and their sum in seconds, by kind."""
        with self._lock:
            return {kind: (list(counts), total) for kind, (counts, total) in self._kinds.items()}


REQUESTS = Count("strata_requests", "Responses, by status.", "status")
REFUSALS = Count("strata_refusals", "Requests that were refused, by error code.", "code")
JOBS = Count("strata_jobs", "Processes started for scripts, by what they do.", "mode")
ENDS = Count("strata_job_ends", "How those processes ended: ok, timeout, memory, crash, ...", "status")
ANSWERS = Count("strata_answers", "Compilations, by where their answer came from: cache or work.", "source")
WAITS = Durations("strata_wait_seconds", "Time from joining a queue to holding a slot.", "queue")
EVERY = (REQUESTS, REFUSALS, JOBS, ENDS, ANSWERS)
