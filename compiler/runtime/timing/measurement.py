"""Calls and measurements of native code, reported to instruments."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from compiler.ir.instrument import Instrument, active_instruments, first_answer, uninstrumented
from compiler.runtime.timing.clock import disturbed_words, is_disturbed, stopwatch

if TYPE_CHECKING:
    from compiler.ir.instrument.interface import Callee

Thunk = Callable[[], object]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """Times of a measured function; where its thread was interrupted they are :class:`Duration` of processor time."""

    results: Sequence[float]

    @property
    def is_disturbed(self) -> bool:
        """Whether the thread waited for a processor for more than a tenth of the time, in most measurements."""
        return is_disturbed(self.results)

    @property
    def mean(self) -> float:
        """Average, in seconds."""
        return float(np.mean(self.results))

    @property
    def median(self) -> float:
        """Median, in seconds."""
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        """Fastest repeat, in seconds."""
        return min(self.results)

    @property
    def max(self) -> float:
        """Slowest repeat, in seconds."""
        return max(self.results)

    @property
    def std(self) -> float:
        """Standard deviation, in seconds."""
        return float(np.std(self.results))

    def __str__(self) -> str:
        if any(math.isnan(seconds) for seconds in self.results):
            return "Execution time summary:\n not measured"
        names = ("mean", "median", "max", "min", "std")
        head = " ".join(f"{name + ' (ms)':^12}" for name in names)
        row = " ".join(f"{getattr(self, name) * 1e3:^12.4f}" for name in names)
        words = disturbed_words(self.results)
        return f"Execution time summary:\n {head}\n {row}" + (f"\n {words}" if words else "")


def call_instrumented(
    instruments: Sequence[Instrument], callee: Callee, name: str, args: Sequence[object], run: Callable[[], T]
) -> T:
    """Call ``run``, which runs the function ``name`` of ``callee``; tell instruments before and after."""
    for instrument in instruments:
        instrument.before_call(callee, name, args)
    started = time.perf_counter()
    try:
        return run()
    finally:
        seconds = time.perf_counter() - started
        for instrument in instruments:
            instrument.after_call(callee, name, seconds)


def benchmark(
    callee: Callee, name: str, args: Sequence[object], run: Thunk, number: int, repeat: int, min_seconds: float
) -> BenchmarkResult:
    """Measure ``run``, which runs the function ``name`` of ``callee``, unless an instrument answers instead."""
    instruments = active_instruments()
    answer = first_answer(i.measure(callee, name, number, repeat, args) for i in instruments)
    if answer is not None:
        return BenchmarkResult(list(answer))
    with uninstrumented():
        count, seconds = measure(run, number, repeat, min_seconds)
    for instrument in instruments:
        instrument.measured(callee, name, count, seconds)
    return BenchmarkResult(seconds)


def measure(run: Thunk, number: int, repeat: int, min_seconds: float) -> tuple[int, list[float]]:
    """Time ``run`` after one call to warm up; return calls a repeat and seconds a call for each repeat."""
    run()
    results: list[float] = []
    for _ in range(repeat):
        while True:
            elapsed_since = stopwatch()
            for _ in range(number):
                run()
            elapsed = elapsed_since()
            if elapsed.clock >= min_seconds:  # that much patience there is on a busy machine too
                break
            number = max(number + 1, math.ceil(number * min(min_seconds / max(elapsed.clock, 1e-9), 10.0) * 1.1))
        results.append(elapsed.per(number))
    return number, results
