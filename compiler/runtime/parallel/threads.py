"""The OpenMP runtime behind parallel loops."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from compiler.ir.error import ArgumentError, show
from compiler.runtime.machine import available_cores, this_machine

SYMBOLS = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
"""What generated code calls; libgomp and LLVM's libomp both have them."""

_END_THREADS = "omp_pause_resource_all"
_HARD = 2
"""``omp_pause_hard``: nothing of the threads is kept."""

_CANDIDATES = ("libgomp.so.1", "libomp.so.5", "libomp.so", "libomp.dylib", "libiomp5.so")
_WAITING = {"GOMP_SPINCOUNT": "2000"}
"""Settings of libgomp that it reads when it is loaded: how often a thread looks for work before it sleeps.

By its own setting it looks for milliseconds.  Where other programs need the cores, those who have work then wait for
those who look for it: a kernel of 50 microseconds takes up to a second.  These some ten microseconds last from one
kernel of a model to the next."""
_WAITING_OF_THE_USER = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
_requested: list[int] = []


@dataclass(frozen=True, slots=True)
class OpenMP:
    """A loaded OpenMP runtime: its file, the addresses of :data:`SYMBOLS`, and what ends its threads."""

    file: str
    addresses: dict[str, int]
    pause: Callable[[int], int]


def _library_names() -> Iterator[str]:
    """File names to try; the system is only searched, which starts other programs, when the usual ones fail."""
    yield from _CANDIDATES
    for name in ("gomp", "omp"):
        if file := ctypes.util.find_library(name):
            yield file


@contextmanager
def _short_waiting() -> Iterator[None]:
    """Let a runtime that is loaded here wait as :data:`_WAITING` says, unless the user said how."""
    ours = {} if any(variable in os.environ for variable in _WAITING_OF_THE_USER) else _WAITING
    os.environ.update(ours)
    try:
        yield
    finally:
        for variable in ours:
            del os.environ[variable]


@cache
def openmp() -> OpenMP | None:
    """Load the OpenMP runtime; None when this machine has none."""
    with _short_waiting():
        return _load()


def _load() -> OpenMP | None:
    for name in _library_names():
        try:
            library = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
            addresses = {s: ctypes.cast(getattr(library, s), ctypes.c_void_p).value or 0 for s in SYMBOLS}
            runtime = OpenMP(name, addresses, getattr(library, _END_THREADS))
        except (OSError, AttributeError):
            continue
        if "gomp" in name and hasattr(os, "register_at_fork"):
            # In the child libgomp would wait for ever for threads that are the parent's.  The pools of other threads do
            # not matter, as the child does not have those either.  LLVM's libomp notices a fork itself.
            os.register_at_fork(before=end_threads)
        return runtime
    return None


def end_threads() -> None:
    """End the threads that wait for this thread's next parallel loop, which starts others."""
    if (runtime := openmp()) is not None:
        runtime.pause(_HARD)


def parallel_runtime() -> str:
    """Say in a few words what parallel loops run on."""
    if (runtime := openmp()) is None:
        return "no OpenMP runtime is installed (`apt install libgomp1`): parallel loops run serially"
    return f"OpenMP ({runtime.file}), {num_threads()} thread{'s' if num_threads() != 1 else ''}"


def num_threads() -> int:
    """Return how many threads a parallel loop gets; 1 without an OpenMP runtime.

    That is what :func:`set_num_threads` set, else ``TVM_NUM_THREADS`` or ``OMP_NUM_THREADS`` of the environment, else
    as many as this process may use cores; of the hardware threads of a core, one.
    """
    if openmp() is None:
        return 1
    if _requested:
        return _requested[0]
    for variable in ("TVM_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(variable, "").split(",")[0]
        if value.isdigit() and int(value) > 0:
            return int(value)
    return min(available_cores(), this_machine().threads)


def set_num_threads(count: int | None) -> None:
    """Let parallel loops run on 1 to 1024 threads from now on, or on as many as there are cores (None)."""
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= 1024):
        raise ArgumentError(f"set_num_threads: count must be an int from 1 to 1024 or None, got {show(count)}")
    _requested[:] = [] if count is None else [count]
