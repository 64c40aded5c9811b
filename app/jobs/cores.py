"""Assigns CPUs to jobs, so that compilations do not disturb concurrent measurements."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from app.sandbox import Limits
from compiler.runtime.cpus import core_of, on_separate_cores_first


class Cores:
    """Divides the CPUs between the running measurement and all other scripts.

    Parameters
    ----------
    measuring : callable
        Returns whether a measurement is running.
    cpus : tuple of int, optional
        The CPUs to divide; by default those that this process may use.  If empty, nothing is pinned.
    """

    def __init__(self, measuring: Callable[[], bool], cpus: tuple[int, ...] | None = None) -> None:
        if cpus is None:
            cpus = tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
        self._measuring = measuring
        self._cpus = cpus
        self._measured: tuple[int, ...] = ()

    def assign(self, limits: Limits) -> Limits:
        """Add CPUs to the limits of a job; an empty tuple means all.

        A measurement gets one per thread, from the end and of different cores, and keeps to them unless it roams;
        concurrent scripts get those of the other cores, or all if there are none left.
        """
        if limits.own_cpus:
            self._measured = tuple(sorted(on_separate_cores_first(reversed(self._cpus))[: limits.own_cpus]))
            return limits if limits.roams else msgspec.structs.replace(limits, cpus=self._measured)
        if not self._measuring():
            return limits
        busy = set(map(core_of, self._measured))
        return msgspec.structs.replace(limits, cpus=tuple(cpu for cpu in self._cpus if core_of(cpu) not in busy))
