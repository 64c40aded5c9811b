"""A piece of native work that does not end is barked at, once; others are not."""

from __future__ import annotations

import threading
import time

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
