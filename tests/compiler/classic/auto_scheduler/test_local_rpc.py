"""Schedules that are measured in another process."""

import dataclasses
import os
import random
import signal
import time

import pytest

from compiler import te
from compiler.classic import auto_scheduler
from compiler.classic.auto_scheduler.measure import MeasureErrorNo, MeasureInput, measure


@auto_scheduler.register_workload
def measured_elsewhere(n):
    a = te.placeholder((n,), name="A")
    return [a, te.compute((n,), lambda i: a[i] * 2.0, name="B")]


class _Task:
    """A task whose schedule does something else than being made."""

    def __init__(self, action):
        self.target = auto_scheduler.SearchTask(func=measured_elsewhere, args=(16,), target="llvm").target
        self.compute_dag = self
        self.apply_steps_from_state = action


def _context(**options):
    return auto_scheduler.LocalRPCMeasureContext(number=1, repeat=2, min_repeat_ms=0, **options)


def test_a_search_measures_in_another_process():
    task = auto_scheduler.SearchTask(func=measured_elsewhere, args=(64,), target="llvm")
    seen = []

    class Seen:
        def callback(self, inputs, results):
            seen.extend(results)

    context = _context()
    options = auto_scheduler.TuningOptions(
        num_measure_trials=2, runner=context.runner, measure_callbacks=[Seen()], verbose=0
    )
    auto_scheduler.SketchPolicy(task, verbose=0, seed=1).search(options)
    assert seen
    assert all(len(result.costs) == 2 and min(result.costs) > 0 for result in seen), seen


def _crash(state):
    os.kill(os.getpid(), signal.SIGKILL)


def _hang(state):
    time.sleep(3600)


@pytest.mark.parametrize(
    ("action", "timeout", "error"),
    [(_crash, 10, MeasureErrorNo.RUNTIME_DEVICE), (_hang, -10, MeasureErrorNo.RUN_TIMEOUT)],
)
def test_a_schedule_that_crashes_or_hangs_ends_as_an_error_and_the_next_one_is_measured(action, timeout, error):
    context = _context(timeout=timeout)  # and the fifteen seconds that a builder has
    result = measure(MeasureInput(_Task(action), None), context.runner)
    assert (result.costs, result.error_no) == ((), error), result
    task = auto_scheduler.SearchTask(func=measured_elsewhere, args=(16,), target="llvm")
    patient = dataclasses.replace(context.runner, timeout=10)  # with the same worker
    again = measure(MeasureInput(task, task.compute_dag.sketch.sample(random.Random(0))), patient)
    assert not again.error_no, again
