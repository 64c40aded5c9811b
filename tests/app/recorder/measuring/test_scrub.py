"""Programs in turns: all are measured as often, and one that fails or is wrong is a gap with its reason."""

from __future__ import annotations

import pytest

from app.artifacts import Measurement, Options
from app.protocol import Event, Failed, Measured
from app.recorder.measuring import scrub
from app.recorder.measuring.measure import time_rounds
from app.recorder.measuring.measured_program import TensorProgram
from app.recorder.measuring.scrub import Scrub
from compiler import te
from compiler.runtime.parallel.threads import num_threads, set_num_threads
from compiler.runtime.timing.clock import Duration
from compiler.target.target import Target
from tests.app.recorder.measuring.test_race import kernel


class Broken(TensorProgram):
    """A program that cannot be built."""

    def lowered(self, count: int | None = None) -> object:  # type: ignore[override]
        raise MemoryError


def broken() -> TensorProgram:
    a = te.placeholder((8,), name="a")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="b")
    return Broken(te.create_schedule(b.op), [a, b])


def measured(programs: dict[str, TensorProgram]) -> tuple[dict[str, Measurement], dict[str, str]]:
    """Return the last measurement of each program, and why others have none."""
    events: list[Event] = []
    threads = num_threads()
    scrubbed = Scrub(Options(), events.append)
    for label, program in programs.items():
        scrubbed.add(label, program, Target("llvm"), 1)
    scrubbed.run()
    set_num_threads(threads)
    rows = {event.measurement.name: event.measurement for event in events if isinstance(event, Measured)}
    return rows, {event.label: event.problem.message for event in events if isinstance(event, Failed)}


def test_all_are_checked_and_measured_as_often_whatever_they_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrub, "ROUNDS_SECONDS", 0.1)
    rows, failures = measured({"8": kernel(True), "1": kernel(False), "3": kernel(True, 3.0, 32), "no": broken()})
    assert {label: row.checked for label, row in rows.items()} == {"8": "ok", "1": "ok", "3": "ok"}
    assert len({row.repeats for row in rows.values()}) == 1
    assert all(row.seconds > 0 for row in rows.values())
    assert failures == {"no": "this needs more memory than a measurement may have"}


def test_a_wrong_result_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    right = kernel(False)
    wrong = kernel(False, 3.0)
    monkeypatch.setattr(wrong, "definition", right.definition)  # so that it is compared with the other's result
    monkeypatch.setattr(scrub, "ROUNDS_SECONDS", 0.05)
    rows, _ = measured({"2": right, "3": wrong})
    assert (rows["2"].checked, rows["3"].checked, rows["3"].seconds) == ("ok", "wrong", 0.0)


def test_what_is_built_too_late_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrub, "PREPARING_SECONDS", -1.0)
    assert measured({"8": kernel(True)}) == ({}, {"8": "there was no time left for it"})


def test_calls_alternate_in_rounds() -> None:
    calls: list[str] = []
    turns = [lambda name=name: calls.append(name) for name in "ab"]  # type: ignore[misc]
    *_, last = time_rounds(turns, [Duration(0.001), Duration(0.002)], 0.0)
    assert "".join(calls) == ("a" * 5 + "b" * 3) * 2
    assert [len(timing.seconds) for timing in last] == [2, 2]


def test_a_slow_call_has_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrub, "RUNG_SECONDS", 0.0)
    rows, _ = measured({"8": kernel(True)})
    assert (rows["8"].repeats, rows["8"].checked) == (1, "ok")
