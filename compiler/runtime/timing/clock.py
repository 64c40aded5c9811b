"""How long something took: by the clock, and in processor time of the thread that did it.

On a busy machine a thread waits for a processor, and the clock goes on.  Where a thread alone did the work and waited
for nothing, its processor time is what the work takes.  With several threads, or a device, only the clock says it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import NamedTuple

resource: ModuleType | None
try:
    import resource
except ImportError:  # on Windows: the clock only
    resource = None

__all__ = ["Duration", "disturbed_words", "is_disturbed", "stopwatch", "time_together"]

TOLERANCE = 0.1
"""The share by which clock and processor time may differ, which also tells one thread's work from several's."""
_RESOLUTION = 2e-5
"""Seconds that reading the clocks and the counters may take."""


class Duration(float):
    """Seconds: of processor time where one thread worked without waiting and was interrupted, otherwise by the clock.

    Attributes
    ----------
    clock : float
        Seconds by the clock.
    processor : float or None
        Seconds of processor time of the thread; None where that does not say how long the work takes.
    """

    clock: float
    processor: float | None

    def __new__(cls, clock: float, processor: float | None = None) -> Duration:
        """Create a duration."""
        made = super().__new__(cls, clock if processor is None else min(clock, processor))
        made.clock, made.processor = clock, processor
        return made

    @property
    def is_disturbed(self) -> bool:
        """Whether the thread waited for a processor for more than a tenth of the time."""
        return self.processor is not None and self.clock - self.processor > TOLERANCE * self.clock

    def __reduce__(self) -> tuple[type[Duration], tuple[float, float | None]]:
        return Duration, (self.clock, self.processor)

    def per(self, count: float) -> Duration:
        """Return the time of one of several calls."""
        return Duration(self.clock / count, None if self.processor is None else self.processor / count)


class _Reading(NamedTuple):
    clock: float
    thread: float
    process: float
    waits: int
    interruptions: int


def stopwatch() -> Callable[[], Duration]:
    """Return what returns the time since now, to be called by the same thread."""
    before = _read()

    def elapsed() -> Duration:
        clock = time.perf_counter() - before.clock
        after = _read()
        thread, process = after.thread - before.thread, after.process - before.process
        is_alone = after.waits == before.waits and process - thread <= max(TOLERANCE * process, _RESOLUTION)
        is_interrupted = after.interruptions > before.interruptions and clock - thread > _RESOLUTION
        return Duration(clock, thread if is_alone and is_interrupted else None)

    return elapsed


def time_together(tasks: Sequence[Callable[[], object]]) -> Duration:
    """Return how long tasks take, each in a thread of its own; a single one runs in this thread."""
    if len(tasks) == 1:
        elapsed = stopwatch()
        tasks[0]()
        return elapsed()
    gate = threading.Barrier(len(tasks) + 1)

    def work(task: Callable[[], object]) -> None:
        gate.wait()
        task()

    workers = [threading.Thread(target=work, args=(task,)) for task in tasks]
    for worker in workers:
        worker.start()
    gate.wait()
    started = time.perf_counter()
    for worker in workers:
        worker.join()
    return Duration(time.perf_counter() - started)


def _read() -> _Reading:
    """Read the clock last, so that what follows is not part of the other readings."""
    waits = interruptions = 0
    if resource is not None:
        usage = resource.getrusage(getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF))
        waits, interruptions = usage.ru_nvcsw, usage.ru_nivcsw
    process, thread = time.process_time(), time.thread_time()
    return _Reading(time.perf_counter(), thread, process, waits, interruptions)


def is_disturbed(times: Iterable[float]) -> bool:
    """Return whether most of some times are those of a thread that waited for a processor."""
    marks = [isinstance(seconds, Duration) and seconds.is_disturbed for seconds in times]
    return 2 * sum(marks) > len(marks)


def disturbed_words(times: Iterable[float]) -> str:
    """Return that times are of processor time, as the thread was interrupted; nothing where it was not."""
    marked = [seconds for seconds in times if isinstance(seconds, Duration) and seconds.is_disturbed]
    if not marked:
        return ""
    most = max(seconds.clock / max(seconds, 1e-9) for seconds in marked)
    return f"disturbed: processor time, by the clock up to {most:.2g} times as long"
