"""Times of a thread that others interrupt are those of the processor, and marked."""

from __future__ import annotations

import json
import pickle
import statistics
import threading
import time

import pytest

from compiler.runtime.timing import clock
from compiler.runtime.timing.clock import Duration, disturbed_words, is_disturbed, stopwatch, time_together
from compiler.runtime.timing.measurement import BenchmarkResult, measure


class Machine:
    """Clocks and counters of a thread, moved by a test."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now, self.thread, self.process, self.waits, self.interruptions, self.switches = 0.0, 0.0, 0.0, 0, 0, 0
        patch.setattr(clock, "_read", self.read)
        patch.setattr(clock.time, "perf_counter", lambda: self.now)

    def read(self) -> clock._Reading:
        return clock._Reading(self.now, self.thread, self.process, self.waits, self.interruptions, self.switches)

    def run(self, seconds: float, others: float = 0.0, waits: int = 0, stolen: float = 0.0) -> None:
        self.now += seconds + stolen
        self.thread += 0 if waits else seconds
        self.process += (0 if waits else seconds) + others
        self.waits += waits
        self.interruptions += stolen > 0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_an_interrupted_thread_is_measured_by_its_processor_time(machine: Machine) -> None:
    elapsed = stopwatch()
    machine.run(1.0, stolen=2.0)
    taken = elapsed()
    assert (taken, taken.clock, taken.is_disturbed) == (1.0, 3.0, True)
    assert disturbed_words([taken]) == "disturbed: processor time, by the clock up to 3 times as long"
    elapsed = stopwatch()
    machine.run(1.0, stolen=0.05)
    assert (elapsed(), elapsed().is_disturbed) == (1.0, False)


def test_threads_devices_and_sleep_are_measured_by_the_clock(machine: Machine) -> None:
    for how in ({"others": 1.0}, {"waits": 1}):
        elapsed = stopwatch()
        machine.run(1.0, stolen=2.0, **how)
        assert (elapsed(), elapsed().is_disturbed) == (3.0, False), how


@pytest.mark.parametrize(("switches", "disturbed"), [(40, True), (4, False)])
def test_several_threads_are_disturbed_by_what_often_takes_processors_from_them(
    machine: Machine, switches: int, disturbed: bool
) -> None:
    elapsed = stopwatch()
    machine.run(1.0, others=1.0)
    machine.switches += switches
    taken = elapsed().per(4)
    assert (taken, taken.is_disturbed, pickle.loads(pickle.dumps(taken)).is_disturbed) == (0.25, disturbed, disturbed)
    assert disturbed_words([taken]) == "disturbed: other programs took processors from its threads" * disturbed


def test_an_undisturbed_thread_is_measured_by_the_clock(machine: Machine) -> None:
    elapsed = stopwatch()
    machine.run(1.0)
    assert (elapsed(), elapsed().processor) == (1.0, None)


def test_measurements_say_that_they_were_disturbed(machine: Machine) -> None:
    number, seconds = measure(lambda: machine.run(0.5, stolen=1.5), 2, 3, 0.0)
    result = BenchmarkResult(seconds)
    assert (number, result.results, result.mean, result.is_disturbed) == (2, [0.5] * 3, 0.5, True)
    assert str(result).endswith("disturbed: processor time, by the clock up to 4 times as long")
    assert "disturbed" not in str(BenchmarkResult([0.5, Duration(0.5)]))


def test_most_repeats_decide() -> None:
    quiet, busy = Duration(1.0), Duration(3.0, 1.0)
    assert is_disturbed([busy, busy, quiet])
    assert not is_disturbed([busy, quiet, 1.0])
    assert not is_disturbed([])


def test_a_duration_is_a_number_and_travels() -> None:
    taken = Duration(3.0, 1.0)
    again = pickle.loads(pickle.dumps(taken))
    assert (again, again.clock, again.processor) == (1.0, 3.0, 1.0)
    assert json.dumps([taken]) == "[1.0]"
    assert statistics.median([taken, Duration(2.0)]) == 1.5
    assert (taken.per(2), taken.per(2).clock) == (0.5, 1.5)


def test_real_threads() -> None:
    def work() -> None:
        time.sleep(0.01)

    assert time_together([work]) >= 0.01
    assert time_together([work, work]).processor is None
    names: list[str] = []
    time_together([lambda: names.append(threading.current_thread().name)])
    assert names == [threading.current_thread().name]
