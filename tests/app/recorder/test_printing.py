"""What is printed does not depend on how many others use the machine."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from app.recorder import printing
from app.recorder.printing import ArtifactPrinter, Memo


@pytest.mark.parametrize(
    ("worked", "elapsed", "prints"),
    [(1.0, 19.0, True), (3.0, 3.0, False), (1.0, 21.0, False)],
    ids=["waits for a core", "has worked for its time", "the job has to end"],
)
def test_waiting_for_a_core_does_not_count_while_the_job_may_go_on(
    monkeypatch: pytest.MonkeyPatch, worked: float, elapsed: float, prints: bool
) -> None:
    clock = SimpleNamespace(thread_time=lambda: 0.0, perf_counter=lambda: 0.0)
    monkeypatch.setattr(printing, "time", clock)
    printed = ArtifactPrinter(job_seconds=20.0)
    printed.begin(2.0)
    clock.thread_time, clock.perf_counter = (lambda: worked), (lambda: elapsed)
    assert printed.once(Memo[str](), object(), lambda: "text") == ("text" if prints else None)
    assert printed.unprinted == (0 if prints else 1)
    assert printed.hurried == (not prints and worked < 2.0), "then the next try may have it"


def test_at_the_end_of_a_job_there_is_still_time_to_print(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(thread_time=lambda: 0.0, perf_counter=lambda: 0.0)
    monkeypatch.setattr(printing, "time", clock)
    printed = ArtifactPrinter(job_seconds=20.0)
    clock.perf_counter = lambda: 21.0
    printed.begin(2.0)
    assert printed.once(Memo[str](), object(), lambda: "text") == "text"


@pytest.mark.parametrize(("worked", "hurried"), [(1.9, False), (0.5, True)], ids=["slow machine", "busy machine"])
def test_an_end_that_comes_while_it_works_is_the_same_the_next_time(
    monkeypatch: pytest.MonkeyPatch, worked: float, hurried: bool
) -> None:
    """A slow machine, too, begins to print near the end of the job: another try would take its time for nothing."""
    clock = SimpleNamespace(thread_time=lambda: 0.0, perf_counter=lambda: 0.0)
    monkeypatch.setattr(printing, "time", clock)
    printed = ArtifactPrinter(job_seconds=20.0)
    clock.perf_counter = lambda: 19.5
    printed.begin(2.0)
    clock.thread_time, clock.perf_counter = (lambda: worked), (lambda: 21.6)
    assert printed.once(Memo[str](), object(), lambda: "text") is None
    assert printed.hurried == hurried
