"""A ladder: every rung is measured and checked, and one that fails does not end it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from app.artifacts import Measurement, Options
from app.protocol import Event, Failed, Measured, Progress
from app.recorder.measuring import ladder, measured_program
from app.recorder.measuring.ladder import Ladder, steadied
from app.recorder.measuring.measured_program import TensorProgram
from compiler import te
from compiler.ir.error import TVMError
from compiler.runtime.modules import native_code
from compiler.runtime.modules.function import Function
from compiler.runtime.parallel import threads as parallel_threads
from compiler.runtime.parallel.threads import num_threads, set_num_threads
from compiler.target.codegen.llvm import generate
from compiler.target.cpu.peak import peak_of
from compiler.target.target import Target
from compiler.tir.analysis.arithmetic import Arithmetic
from tests.machines import needs_openmp


def climb(backwards: bool = False) -> list[Event]:
    """Return the events of a small ladder of three primitives, of which one prepares; ``backwards`` adds a rung."""
    a = te.placeholder((32,), name="a")
    b = te.compute((32,), lambda i: a[i] * 2.0, name="b")
    schedule = te.create_schedule(b.op)
    _, inner = schedule[b].split(b.op.axis[0], factor=8)
    if backwards:
        inner = schedule[b].reverse(inner)
    schedule[b].unroll(inner)
    schedule[b].vectorize(inner)
    events: list[Event] = []
    threads = num_threads()
    Ladder(TensorProgram(schedule, [a, b]), Target("llvm"), Options(), events.append).run()
    set_num_threads(threads)
    return events


def test_every_rung_is_measured_and_checked() -> None:
    events = climb()
    rows = [event.measurement for event in events if isinstance(event, Measured)]
    assert [row.kind for row in rows] == ["numpy", "peak", "prefix", "prefix", "prefix", "numpy", "peak", "bandwidth"]
    rungs = [(row.step, row.checked, row.error) for row in rows[2:5]]
    assert rungs == [(0, "ok", 0.0), (2, "ok", 0.0), (3, "ok", 0.0)], "a split alone changes no order"
    progress = [event for event in events if isinstance(event, Progress)]
    assert [event.done for event in progress] == list(range(9))
    assert {event.total for event in progress} == {8}


def test_a_program_without_arithmetic_is_compared_with_the_memory_s_bandwidth() -> None:
    a = te.placeholder((16, 16), name="a")
    b = te.compute((16, 16), lambda i, j: a[j, i], name="b")
    events: list[Event] = []
    threads = num_threads()
    Ladder(TensorProgram(te.create_schedule(b.op), [a, b]), Target("llvm"), Options(), events.append).run()
    set_num_threads(threads)
    kinds = [event.measurement.kind for event in events if isinstance(event, Measured)]
    assert kinds == ["numpy", "prefix", "numpy", "bandwidth"]


@pytest.mark.parametrize(
    ("dtype", "summed", "bound"), [("float64", "float64", "float64"), ("int8", "int32", "int8|int16"), ("uint8",) * 3]
)
def test_the_peak_is_that_of_what_is_multiplied(dtype: str, summed: str, bound: str) -> None:
    a = te.placeholder((16, 16), dtype, "a")
    k = te.reduce_axis((0, 16), name="k")
    b = te.compute((16,), lambda i: te.sum(a[i, k].astype(summed) * a[k, i].astype(summed), axis=k), name="b")
    events: list[Event] = []
    threads = num_threads()
    Ladder(TensorProgram(te.create_schedule(b.op), [a, b]), Target("llvm"), Options(), events.append).run()
    set_num_threads(threads)
    notes = [e.measurement.note for e in events if isinstance(e, Measured) and e.measurement.kind == "peak"]
    assert not [e for e in events if isinstance(e, Failed)]
    is_known = peak_of(Arithmetic(dtype, dtype, summed), Target("llvm")) is not None
    assert [re.search(rf"multiply-adds of ({bound})\b", note) is not None for note in notes] == [True] * (2 * is_known)


def test_what_all_are_compared_with_is_measured_before_and_after() -> None:
    rows = [event.measurement for event in climb() if isinstance(event, Measured)]
    for first, last in (rows[0], rows[5]), (rows[1], rows[6]):
        assert (first.kind, first.name) == (last.kind, last.name)
        assert last.seconds <= first.seconds
        assert (last.gflops or 0) >= (first.gflops or 0)
        assert "the faster of two measurements" in last.note
    assert rows[0].note == "(a * 2.0)"


def reference(seconds: float, **fields: object) -> Measurement:
    return Measurement(name="NumPy", kind="numpy", seconds=seconds, **fields)  # type: ignore[arg-type]


def test_references_that_disagree_say_so() -> None:
    both = steadied(reference(2.0, note="A + B"), reference(1.0, note="A + B", spread=0.2))
    assert (both.seconds, both.spread) == (1.0, 1.0)
    assert both.note == "A + B · the faster of two measurements · 2.0 × apart before and after: the machine was busy"
    assert "20 % apart" in steadied(reference(1.2), reference(1.0)).note
    assert "busy" not in steadied(reference(1.0), reference(1.05)).note
    peaks = [Measurement(name="peak", kind="peak", seconds=0.0, gflops=rate) for rate in (38.5, 99.3)]
    assert (steadied(*peaks).gflops, "2.6 × apart" in steadied(*peaks).note) == (99.3, True)


def test_a_primitive_that_stands_beside_its_relation_is_a_rung() -> None:
    rows = [event.measurement for event in climb(backwards=True) if isinstance(event, Measured)]
    assert [(row.step, row.checked, row.error) for row in rows[2:6]] == [(step, "ok", 0.0) for step in (0, 2, 3, 4)]


@pytest.mark.parametrize("extent", [1 << 40, 1 << 62])
def test_arguments_that_are_too_large_are_named(extent: int) -> None:
    A = te.placeholder((extent, 4), name="giant")
    B = te.compute((4,), lambda i: A[0, i] + 1.0)
    with pytest.raises(TVMError, match=r"at most 536,870,912 bytes; 'giant' of shape .* has [\d,]+"):
        Ladder(TensorProgram(te.create_schedule(B.op), [A, B]), Target("llvm"), Options(), lambda event: None)


@pytest.mark.parametrize("extent", [1 << 40, 1 << 62])
def test_a_stage_that_is_too_large_says_so(extent: int) -> None:
    A = te.placeholder((4,), name="A")
    giant = te.compute((extent,), lambda i: A[i % 4], name="giant")
    B = te.compute((4,), lambda i: giant[i] + 1.0)
    events: list[Event] = []
    Ladder(TensorProgram(te.create_schedule(B.op), [A, B]), Target("llvm"), Options(), events.append).run()
    failures = [event for event in events if isinstance(event, Failed)]
    assert failures
    assert not [event.problem.message for event in failures if "explorer itself failed" in event.problem.message]
    assert "'giant' of shape" in failures[0].problem.message


def test_a_rung_that_fails_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, calls = measured_program.lower, []

    def lower(*args: Any, **options: Any) -> Any:
        calls.append(args)
        if len(calls) == 2:
            raise KeyError("inside")
        return honest(*args, **options)

    monkeypatch.setattr(measured_program, "lower", lower)
    events = climb()
    [failed] = [event for event in events if isinstance(event, Failed)]
    assert (failed.step, failed.problem.kind) == (2, "KeyError")
    assert "the explorer itself failed here: KeyError('inside')" in failed.problem.message
    rows = [event.measurement for event in events if isinstance(event, Measured)]
    assert [row.step for row in rows if row.kind == "prefix"] == [0, 3]


def test_the_first_call_does_not_count_the_making_of_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    prepare, time_call = Function.prepare, ladder.time_call

    def prepared(self: Function, args: tuple[object, ...]) -> Any:
        order.append("prepared")
        return prepare(self, args)

    def timed(call: Any) -> float:
        order.append("timed")
        return time_call(call)

    monkeypatch.setattr(Function, "prepare", prepared)
    monkeypatch.setattr(ladder, "time_call", timed)
    climb()
    assert order[:3] == ["prepared", "timed", "prepared"]


def test_arguments_are_not_checked_again_in_each_call_that_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Function, *args: object) -> None:
        raise AssertionError("a call with its checks takes longer than a small kernel")

    monkeypatch.setattr(Function, "__call__", refuse)
    assert not [event for event in climb() if isinstance(event, Failed)]


def test_a_parallel_step_says_that_there_is_nothing_to_run_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    a = te.placeholder((32,), name="a")
    b = te.compute((32,), lambda i: a[i] * 2.0, name="b")
    schedule = te.create_schedule(b.op)
    schedule[b].parallel(b.op.axis[0])
    threads = num_threads()
    for module in (ladder, parallel_threads, generate, native_code):
        monkeypatch.setattr(module, "openmp", lambda: None)
    events: list[Event] = []
    Ladder(TensorProgram(schedule, [a, b]), Target("llvm"), Options(threads=2), events.append).run()
    set_num_threads(threads)
    rows = [event.measurement for event in events if isinstance(event, Measured)]
    [before, step] = [row for row in rows if row.kind == "prefix"]
    assert before.note == ""
    assert (step.threads, step.checked) == (1, "ok")
    assert "libgomp1" in step.note


@needs_openmp
def test_a_parallel_step_is_timed_on_one_thread_too(monkeypatch: pytest.MonkeyPatch) -> None:
    a = te.placeholder((32,), name="a")
    b = te.compute((32,), lambda i: a[i] * 2.0, name="b")
    schedule = te.create_schedule(b.op)
    schedule[b].parallel(b.op.axis[0])
    prepared: list[int] = []
    prepare = Function.prepare

    def noting(self: Function, args: tuple[object, ...]) -> Any:
        prepared.append(num_threads())
        return prepare(self, args)

    monkeypatch.setattr(Function, "prepare", noting)
    events: list[Event] = []
    threads = num_threads()
    Ladder(TensorProgram(schedule, [a, b]), Target("llvm"), Options(threads=2), events.append).run_last("f")
    Ladder(TensorProgram(schedule, [a, b]), Target("llvm"), Options(threads=2), events.append).run()
    set_num_threads(threads)
    assert prepared == [2, 2, 2, 1], "a prepared call keeps its number of threads"
    rows = [event.measurement for event in events if isinstance(event, Measured)]
    assert [row.threads for row in rows if row.kind == "prefix"] == [2, 1, 2]
