"""Schedules that are measured in another process."""

from compiler import te
from compiler.classic import auto_scheduler


@auto_scheduler.register_workload
def measured_elsewhere(n):
    a = te.placeholder((n,), name="A")
    return [a, te.compute((n,), lambda i: a[i] * 2.0, name="B")]


def _context(**options):
    return auto_scheduler.LocalRPCMeasureContext(number=1, repeat=2, min_repeat_ms=0, **options)


def test_a_search_measures_in_another_process():
    task = auto_scheduler.SearchTask(func=measured_elsewhere, args=(64,), target="llvm")
    seen = []

    class Seen:
        def callback(self, policy, inputs, results):
            seen.extend(results)

    context = _context()
    options = auto_scheduler.TuningOptions(
        num_measure_trials=2, runner=context.runner, measure_callbacks=[Seen()], verbose=0
    )
    auto_scheduler.SketchPolicy(task, verbose=0, seed=1).search(options)
    assert seen
    assert all(len(result.costs) == 2 and min(result.costs) > 0 for result in seen), seen
