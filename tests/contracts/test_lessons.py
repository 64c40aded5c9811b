"""Every lesson: its answers pass its checks, in the real sandbox, and what a step begins with does not.

What depends on the machine's speed is left to ``python -m tests.benchmarks.lessons``, which measures.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.lessons import Lesson, Library, Step
from app.lessons.checks import ContentCheck, OutputCheck, Prediction, Question, SpeedCheck
from app.panes.table import PANES

LESSONS = Library().lessons
STEPS = [(lesson, number) for lesson in LESSONS for number in range(1, len(lesson.steps) + 1)]
TIMED = (SpeedCheck, Prediction)


def verdicts(explorer: FlaskClient, lesson: Lesson, number: int, script: str, answers: bool) -> list[dict[str, Any]]:
    """Return what the checks of a step come to for a script; measured is only what has a result to be checked."""
    step = lesson.steps[number - 1]
    body: dict[str, Any] = {"workspace": {"script": script}}
    if answers:
        body["predictions"] = {check.name: check.answer for check in step.checks if isinstance(check, Question)}
    if any(check.needs and not isinstance(check, TIMED) for check in step.checks) and answers:
        address = "/api/ladders" if step.measuring == "ladder" else "/api/measure"
        started = explorer.post(address, json=body["workspace"]).get_json()
        assert b'"status":"ok"' in explorer.get(started["events"]).data
        body["ladder"] = started["id"]
    response = explorer.post(f"/api/lessons/{lesson.name}/steps/{number}/check", json=body)
    assert response.status_code == 200, response.text
    listed: list[dict[str, Any]] = response.get_json()["verdicts"]
    return listed


def untimed(step: Step, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for check, one in zip(step.checks, listed, strict=True) if not isinstance(check, TIMED)]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("lesson", "number"), STEPS, ids=lambda value: getattr(value, "name", str(value)))
def test_a_step_tells_its_answer_from_its_beginning(explorer: FlaskClient, lesson: Lesson, number: int) -> None:
    step = lesson.steps[number - 1]
    if not step.checks:
        return
    assert step.answer is not None
    listed = untimed(step, verdicts(explorer, lesson, number, step.answer, answers=True))
    assert [one for one in listed if not one["passed"]] == []
    begun = verdicts(explorer, lesson, number, lesson.entered_with(number - 1), answers=False)
    assert not all(one["passed"] for one in begun), "what a step begins with passes it already"


@pytest.mark.parametrize(
    ("name", "number", "formula", "other"), [("first-compute", 2, "1.8", "1.9"), ("split", 1, "te.min", "te.max")]
)
def test_a_step_that_does_not_measure_refuses_another_formula(
    explorer: FlaskClient, name: str, number: int, formula: str, other: str
) -> None:
    lesson = next(lesson for lesson in LESSONS if lesson.name == name)
    script = (lesson.steps[number - 1].answer or "").replace(formula, other)
    failed = [one for one in verdicts(explorer, lesson, number, script, answers=False) if not one["passed"]]
    assert [one["detail"] for one in failed] == [
        "the arguments agree, but what is computed of them is written in another way"
    ]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_no_check_shows_a_student_a_regular_expression(lesson: Lesson) -> None:
    asked = [check for step in lesson.steps for check in step.checks if isinstance(check, ContentCheck | OutputCheck)]
    shown = [check.text for check in asked if not check.words]
    assert [text for text in shown if re.search(r"(?<!\\)[.*+?|\[{^$]|\\[a-zA-Z]", text)] == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_opens_what_its_text_names_and_no_more_than_fits_beside_it(lesson: Lesson) -> None:
    opened = [pane for pane in PANES if pane.name in lesson.settings.panes]
    bold = re.findall("<strong>([^<]+)</strong>", "".join(step.html for step in lesson.steps))
    assert {pane.title for pane in PANES if pane.title in bold} <= {pane.title for pane in opened}
    side_by_side = Counter(pane.dock for pane in opened if pane.listing)
    assert all(count <= 2 for count in side_by_side.values()), "a third text leaves no room for what the titles count"


def test_there_are_lessons_enough() -> None:
    assert len(LESSONS) >= 14
    assert len({lesson.title for lesson in LESSONS}) == len(LESSONS)
    for lesson in LESSONS:
        assert lesson.settings.part, f"{lesson.name} stands under no heading"
        assert any(step.checks for step in lesson.steps), f"{lesson.name} asks for nothing"
