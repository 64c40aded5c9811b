"""A race: both kernels are measured in one run, results are compared, and what cannot race says why."""

from __future__ import annotations

from app.artifacts import Options
from app.protocol import Event, Failed, Measured
from app.recorder.measuring.measure import Timing
from app.recorder.measuring.measured_program import TensorProgram
from app.recorder.measuring.race import Race, ratio_words
from compiler import te
from compiler.runtime.parallel.threads import num_threads, set_num_threads
from compiler.target.target import Target


def kernel(vectorized: bool, factor: float = 2.0, size: int = 64) -> TensorProgram:
    a = te.placeholder((size,), name="a")
    b = te.compute((size,), lambda i: a[i] * factor, name="b")
    schedule = te.create_schedule(b.op)
    if vectorized:
        _, inner = schedule[b].split(b.op.axis[0], factor=8)
        schedule[b].vectorize(inner)
    return TensorProgram(schedule, [a, b])


def race(program: TensorProgram, original: TensorProgram) -> list[Event]:
    events: list[Event] = []
    threads = num_threads()
    Race(program, original, Target("llvm"), Options(), events.append).run_last("scale")
    set_num_threads(threads)
    return events


def test_both_kernels_are_measured_in_one_run() -> None:
    rows = [e.measurement for e in race(kernel(True), kernel(False)) if isinstance(e, Measured)]
    original, edited = [row for row in rows if row.kind == "kernel"]
    assert (original.name, edited.name, edited.checked) == ("original", "scale", "ok")
    assert original.repeats == edited.repeats >= 2
    assert "× as fast as the original" in edited.note
    assert "peak" in {row.kind for row in rows}


def test_an_edit_that_computes_something_else_is_not_measured() -> None:
    rows = [e.measurement for e in race(kernel(True, factor=3.0), kernel(False)) if isinstance(e, Measured)]
    [edited] = [row for row in rows if row.kind == "kernel"]
    assert (edited.checked, edited.seconds) == ("wrong", 0.0)


def test_kernels_of_other_arguments_do_not_race() -> None:
    failures = [event for event in race(kernel(True, size=32), kernel(False)) if isinstance(event, Failed)]
    assert ["different arguments from the original" in failure.problem.message for failure in failures] == [True]


def test_a_ratio_within_the_noise_is_no_win() -> None:
    steady, noisy = Timing([1.0] * 4, 1), Timing([0.9, 1.1, 0.95, 1.05], 1)
    assert "no difference beyond the noise" in ratio_words(steady, noisy)
    words = ratio_words(Timing([1.0, 2.0, 1.0], 1), Timing([2.0, 4.0, 2.0], 1))
    assert words == "2.00× as fast as the original (2.00 to 2.00 in 3 rounds)"
