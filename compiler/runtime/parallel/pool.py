"""The registered functions that say what parallel loops run on, as programs of classic TVM call them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from compiler.ir.error import ArgumentError, show
from compiler.runtime.machine import available_cores
from compiler.runtime.modules.packed_func import register_func
from compiler.runtime.parallel.threads import end_threads, num_threads, set_num_threads

_MODES = {1: "big cores", -1: "little cores", -2: "a core for each thread", -3: "all threads share the cores"}


def config_threadpool(mode: int, nthreads: int, cpus: Sequence[str] = ()) -> None:
    """Set how many threads parallel loops get, and which cores they run on.

    Parameters
    ----------
    mode : int
        1 and -1 are the big and the little cores, which are not told apart here; -2 and -3 are for ``cpus``, which the
        operating system then shares out among the threads.
    nthreads : int
        0 means as many as there are cores; no more than that are used.
    cpus : sequence of str
        The numbers of the cores for the threads of the process, itself among them; without any, those that it has.
    """
    if mode not in _MODES:
        modes = ", ".join(f"{number} ({text})" for number, text in _MODES.items())
        raise ArgumentError(f"config_threadpool: mode must be one of {modes}, got {show(mode)}")
    if isinstance(nthreads, bool) or not isinstance(nthreads, int) or nthreads < 0:
        raise ArgumentError(f"config_threadpool: nthreads must be an int from 0 on, got {show(nthreads)}")
    if cpus:
        _run_on(cpus)
    set_num_threads(min(nthreads, available_cores()) or None)


def _run_on(cpus: Sequence[str]) -> None:
    """Move this thread, and those of its parallel loops, to some cores."""
    for cpu in cpus:
        if not str(cpu).isdecimal():
            raise ArgumentError(f"config_threadpool: a core of cpus must be a number, got {show(cpu)}")
    if not hasattr(os, "sched_setaffinity"):
        raise ArgumentError("config_threadpool: this operating system does not let a process choose its cores")
    end_threads()  # those that are started next run where this one does
    try:
        os.sched_setaffinity(0, {int(cpu) for cpu in cpus})
    except (OSError, OverflowError) as error:
        cores = ", ".join(map(str, cpus))
        raise ArgumentError(f"config_threadpool: no process can run on cores {cores} here: {error}") from None


register_func("runtime.config_threadpool", config_threadpool)
register_func("runtime.NumThreads", num_threads)
