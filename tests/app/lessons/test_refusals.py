"""What lessons and classes refuse: checks that cannot hold, classes that are full or over, news of nothing new."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.artifacts import Measurement
from app.errors import Busy, InvalidBody, NotFound
from app.lessons import LessonError, classes
from app.lessons.checks import Check
from app.lessons.classes import Classes, LessonClass, Presented
from app.lessons.lesson import MAX_BYTES, read_lesson
from tests.app.lessons.test_checks import measurement, verdict
from tests.app.lessons.test_classes import JOHN, MARY, Clock, database, news_of, one, school
from tests.app.lessons.test_classes import clock as clock
from tests.app.lessons.test_reading import FRONT, START

__all__ = ["database", "one", "school"]


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (
            {"kind": "contains", "pane": "timeline", "text": "x"},
            "Expected a pane with a text, one of .*, got 'timeline'",
        ),
        ({"kind": "contains", "pane": "assembly", "text": "x"}, "Expected a pane with a text"),
        ({"kind": "contains", "pane": "asm", "text": "["}, "Expected a regular expression, got '\\['"),
        ({"kind": "fact", "pane": "timeline", "fact": "fma"}, "Expected a pane with a text"),
        ({"kind": "printed", "text": "("}, "Expected a regular expression"),
    ],
)
def test_a_check_that_could_never_pass_is_refused_with_its_lesson(check: dict[str, Any], words: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=words):
        msgspec.convert([check], list[Check])


CONTAINS = {"kind": "contains", "pane": "asm", "text": "vmov"}
FMA = {"kind": "fact", "pane": "asm", "fact": "fma"}
KERNELS = {"kind": "graph", "fact": "kernels"}


@pytest.mark.parametrize(("check", "found"), [(CONTAINS, 2), (FMA, 8), (KERNELS, 2)])
def test_bounds_include_their_ends(check: dict[str, Any], found: int) -> None:
    def passes(least: int, most: int) -> bool:
        return verdict({**check, "at_least": least, "at_most": most}).passed

    assert passes(found, found)
    assert passes(found - 1, found + 1)
    assert not passes(found + 1, found + 2)
    assert not passes(found - 2, found - 1)


@pytest.mark.parametrize(("within", "passed"), [(5.5, True), (5.0, True), (4.5, False)])
def test_a_prediction_may_be_off_by_the_factor_either_way(within: float, passed: bool) -> None:
    check = {"kind": "prediction", "name": "x", "ask": "?", "of": "gflops", "within": within}
    for gflops in (7.5, 0.3):  # 1.5 was predicted
        assert verdict(check, [measurement("kernel", 1e-3, gflops=gflops)]).passed == passed


def test_only_steps_that_ask_for_the_same_definition_compare_definitions(tmp_path: Path) -> None:
    path = tmp_path / "01_a.md"
    for kind, compares in (("right", False), ("definition", True)):
        checks = f'```checks\n[[check]]\nkind = "{kind}"\n```\n'
        path.write_text(f"{FRONT}## One\n\n{START}{checks}```python answer\nx = 1\n```\n")
        assert read_lesson(path).steps[0].compares_definitions is compares


NUMPY, UNTIMED = measurement("numpy", 2e-3), measurement("kernel", 0.0, checked="ok", gflops=1.0)
KERNEL = measurement("kernel", 1e-3, checked="ok", gflops=1.0)


@pytest.mark.parametrize(
    "rows",
    [[NUMPY], [UNTIMED, NUMPY], [KERNEL], [KERNEL, measurement("numpy", 0.0)]],
    ids=["no kernel", "a kernel without a time", "no reference", "a reference without a time"],
)
def test_nothing_is_compared_without_two_times(rows: list[Measurement]) -> None:
    for check in (
        {"kind": "faster", "times": 1, "than": "numpy"},
        {"kind": "prediction", "name": "x", "ask": "?", "of": "times numpy"},
    ):
        made = verdict(check, rows)
        assert (made.passed, made.detail) == (False, "nothing was measured")


def test_a_kernel_without_a_time_has_no_speed() -> None:
    check = {"kind": "prediction", "name": "x", "ask": "?", "of": "gflops"}
    assert verdict(check, [KERNEL]).passed
    assert verdict(check, [UNTIMED]).detail == "nothing was measured"


def test_a_lesson_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    text = f"{FRONT}## One\n\n{START}\n"
    path = tmp_path / "01_a.md"
    path.write_bytes(text.encode() + b"x" * (MAX_BYTES - len(text)))
    assert read_lesson(path).steps[0].title == "One"
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(LessonError, match="larger than 262,144 bytes"):
        read_lesson(path)


def test_only_a_first_pass_and_a_better_time_are_news(one: LessonClass) -> None:
    mary = one.attend(MARY, 1)
    times = [(None, None), (None, None), (2e-3, 2.0), (None, None), (3e-3, 3.0), (2e-3, 2.0), (1e-3, 1.0)]
    heard = []
    for seconds, _ in times:
        latest = one.news(0)
        assert latest is not None
        one.credit(MARY, 2, seconds, None)
        heard.append(one.news(latest[0]) is not None)
    assert heard == [True, False, True, False, False, False, True]
    assert [(row.name, row.milliseconds) for row in news_of(one).board] == [(mary, 1.0)]
    one.attend(JOHN, 1)
    before = one.news(0)
    assert before is not None
    one.credit(JOHN, 2, 5e-3, None)
    assert one.news(before[0]) is not None, "the first time of a student is news"


ACTIONS: dict[str, Callable[[LessonClass], object]] = {
    "attend": lambda one: one.attend(MARY, 1),
    "credit": lambda one: one.credit(MARY, 1, 1.0, None),
    "present": lambda one: one.present(None),
    "admit crowds": lambda one: one.admit_crowds(),
    "renew the link": lambda one: one.renew_entry(clear=True),
    "dissolve": lambda one: one.dissolve(),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_nothing_happens_in_a_class_that_ended(one: LessonClass, school: Classes, action: str) -> None:
    one.attend(MARY, 1)
    one.dissolve()
    with pytest.raises(NotFound, match="there is no such class, or it ended"):
        ACTIONS[action](one)
    with pytest.raises(NotFound):
        school.get(one.id)


def test_what_is_presented_may_be_as_large_as_the_limit(one: LessonClass, monkeypatch: pytest.MonkeyPatch) -> None:
    state = Presented(step=1, script="x = 1")
    size = len(msgspec.json.encode(state))
    monkeypatch.setattr(classes, "MAX_STATE_BYTES", size)
    one.present(state)
    assert news_of(one).presented == state
    monkeypatch.setattr(classes, "MAX_STATE_BYTES", size - 1)
    with pytest.raises(InvalidBody, match="what is presented is too large"):
        one.present(state)


def test_all_clients_together_have_so_many_classes(
    school: Classes, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classes, "MAX_CLASSES", 3)
    for number in range(3):
        school.create("split", f"client {number}")
    with pytest.raises(Busy, match="too many classes"):
        school.create("split", "another")
    clock.now += classes.IDLE_SECONDS + 1
    school.create("split", "another")
