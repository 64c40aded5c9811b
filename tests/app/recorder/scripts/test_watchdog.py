"""A piece of native work that does not end is barked at, once; others are not."""

from __future__ import annotations

import threading
import time

import pytest

from app.recorder.scripts.allowance import Allowance
from app.recorder.scripts.watchdog import Watchdog


def test_it_barks_at_what_takes_too_long() -> None:
    heard: list[int | None] = []
    barked = threading.Event()

    def bark(line: int | None) -> None:
        heard.append(line)
        barked.set()

    dog = Watchdog(0.05, bark)
    with dog.watching(7):
        assert barked.wait(20)
    assert heard == [7]


def test_it_has_patience_with_work_that_has_no_processor() -> None:
    heard: list[int | None] = []
    dog = Watchdog(0.05, heard.append, 60.0)
    with dog.watching(7):
        time.sleep(0.2)
    assert heard == []


def test_it_is_silent_over_many_short_pieces() -> None:
    heard: list[int | None] = []
    dog = Watchdog(0.5, heard.append)
    begun = time.monotonic()
    while time.monotonic() - begun < 0.8:
        with dog.watching(1):
            time.sleep(0.001)
    assert heard == [], "together they take longer than one may"


def test_work_does_not_end_before_the_bark_does() -> None:
    order: list[str] = []
    barking = threading.Event()

    def bark(line: int | None) -> None:
        barking.set()
        time.sleep(0.05)
        order.append("barked")

    dog = Watchdog(0.01, bark)
    dog.begin(None)
    assert barking.wait(20)
    dog.end()
    order.append("ended")
    assert order == ["barked", "ended"]


def test_a_script_that_had_no_processor_is_waited_for_from_its_last_moment_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = {"monotonic": 0.0, "process_time": 0.0}
    for name in clocks:
        monkeypatch.setattr(f"time.{name}", lambda name=name: clocks[name])
    monkeypatch.setattr("app.recorder.scripts.allowance.waited", lambda: 0.0)
    given = Allowance(1.0, 5.0)
    seen = []
    for clocks["monotonic"], clocks["process_time"] in ((0.0, 0.0), (0.5, 0.5), (1.0, 0.25), (1.0, 1.0), (5.0, 0.0)):
        seen.append(given.left)
    assert seen == [1.0, 0.5, 0.75, 0.0, 0.0]
