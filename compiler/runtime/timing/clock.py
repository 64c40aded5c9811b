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

TOLERANCE = 0.1
"""The share by which clock and processor time may differ, which also tells one thread's work from several's."""
_RESOLUTION = 2e-5
"""Seconds that reading the clocks and the counters may take."""
_SWITCHES = 2, 20.0
"""How often the threads of a process must be taken off their processors to have been disturbed: at least so often, and
so often a second.  The kernel's own threads do it a few times a second, a program that competes a hundred times."""


class Duration(float):
    """Seconds: of processor time where one thread worked without waiting and was interrupted, else by the clock."""

    clock: float
    """Seconds by the clock."""
    processor: float | None
    """Seconds of processor time of the thread; None where that does not say how long the work takes."""
    is_crowded: bool
    """Whether several threads did the work, and others took processors from them meanwhile."""

    def __new__(cls, clock: float, processor: float | None = None, is_crowded: bool = False) -> Duration:
        """Create a duration."""
        made = super().__new__(cls, clock if processor is None else min(clock, processor))
        made.clock, made.processor, made.is_crowded = clock, processor, is_crowded
        return made

    @property
    def is_disturbed(self) -> bool:
        """Whether the only thread waited for a processor for more than a tenth of the time, or several were crowded."""
        waited = self.processor is not None and self.clock - self.processor > TOLERANCE * self.clock
        return waited or self.is_crowded

    def __reduce__(self) -> tuple[type[Duration], tuple[float, float | None, bool]]:
        return Duration, (self.clock, self.processor, self.is_crowded)

    def per(self, count: float) -> Duration:
        """Return the time of one of several calls."""
        processor = None if self.processor is None else self.processor / count
        return Duration(self.clock / count, processor, self.is_crowded)


class _Reading(NamedTuple):
    clock: float
    thread: float
    process: float
    waits: int
    interruptions: int
    switches: int
    """How often any thread of the process was taken off its processor."""


def stopwatch() -> Callable[[], Duration]:
    """Return what returns the time since now, to be called by the same thread."""
    before = _read()

    def elapsed() -> Duration:
        clock = time.perf_counter() - before.clock
        after = _read()
        thread, process = after.thread - before.thread, after.process - before.process
        is_alone = after.waits == before.waits and process - thread <= max(TOLERANCE * process, _RESOLUTION)
        is_interrupted = after.interruptions > before.interruptions and clock - thread > _RESOLUTION
        if is_alone:
            return Duration(clock, thread if is_interrupted else None)
        return Duration(clock, is_crowded=_crowded(before, after, clock))

    return elapsed


def _crowded(before: _Reading, after: _Reading, clock: float) -> bool:
    least, rate = _SWITCHES
    return after.switches - before.switches >= max(least, rate * clock)


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
    before = _read()
    for worker in workers:
        worker.join()
    clock = time.perf_counter() - before.clock
    return Duration(clock, is_crowded=_crowded(before, _read(), clock))


def _read() -> _Reading:
    """Read the clock last, so that what follows is not part of the other readings."""
    waits = interruptions = switches = 0
    if resource is not None:
        usage = resource.getrusage(getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF))
        waits, interruptions = usage.ru_nvcsw, usage.ru_nivcsw
        switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    process, thread = time.process_time(), time.thread_time()
    return _Reading(time.perf_counter(), thread, process, waits, interruptions, switches)


def is_disturbed(times: Iterable[float]) -> bool:
    """Return whether most of some times are those of threads that waited for a processor."""
    marks = [isinstance(seconds, Duration) and seconds.is_disturbed for seconds in times]
    return 2 * sum(marks) > len(marks)


def disturbed_words(times: Iterable[float]) -> str:
    """Return that times are of processor time, or that threads were interrupted; nothing where none was."""
    marked = [seconds for seconds in times if isinstance(seconds, Duration) and seconds.is_disturbed]
    if not marked:
        return ""
    most = max(seconds.clock / max(seconds, 1e-9) for seconds in marked)
    if all(seconds.is_crowded for seconds in marked):
        return "disturbed: other programs took processors from its threads"
    return f"disturbed: processor time, by the clock up to {most:.2g} times as long"
