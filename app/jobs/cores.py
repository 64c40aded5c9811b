"""Assigns CPUs to jobs: a measurement has its own, so that concurrent compilations do not disturb it."""

from __future__ import annotations

import os

from app.artifacts import Mode
from app.jobs.fair_queue import FairQueue


class Cores:
    """Divides the CPUs between the one measurement that runs and all other scripts.

    Parameters
    ----------
    measuring : FairQueue
        Queue of measurements; one runs at a time.
    cpus : tuple of int, optional
        CPUs to divide; by default those that the server may use.  If it is empty, nothing is pinned.
    """

    def __init__(self, measuring: FairQueue, cpus: tuple[int, ...] | None = None) -> None:
        if cpus is None:
            cpus = tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
        self._measuring = measuring
        self._cpus = cpus
        self._measured: tuple[int, ...] = ()

    def choose(self, mode: Mode, threads: int) -> tuple[int, ...]:
        """Return the CPUs for a script; an empty tuple means all.

        A measurement gets as many as it has threads, from the end; a script that is compiled meanwhile gets the
        others, or all if that leaves none.
        """
        if mode != "compile":
            self._measured = self._cpus[-threads:]
            return self._measured
        if not self._measuring.held:
            return ()
        return tuple(cpu for cpu in self._cpus if cpu not in self._measured)
