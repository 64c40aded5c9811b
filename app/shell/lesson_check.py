"""``strata lesson check``: whether lessons can be taken, before students find out."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.lessons.checks import Prediction, Question
from app.lessons.lesson import Lesson, LessonError, Step, read_lesson
from app.shell.explorer import Explorer, ask, here
from app.shell.failures import WRONG_COMMAND, WRONG_PROGRAM, Failure
from app.views.api import LadderStarted


def check(names: Sequence[str], measures: bool) -> int:
    """Check lessons: every answer must pass the checks of its step, and no step may begin with what passes.

    Parameters
    ----------
    names
        Files, or folders of files.
    measures
        Whether checks that need measurements are tried too.

    Raises
    ------
    Failure
        If there is no such file.
    """
    faults = 0
    lessons = []
    for path in _files(names):
        try:
            lessons.append((path, read_lesson(path, own=True)))
        except LessonError as error:
            print(f"{path.parent / str(error)}")
            faults += 1
    with tempfile.TemporaryDirectory(prefix="strata-lessons-") as folder:
        for path, _ in lessons:
            shutil.copy(path, folder)
        with here(lessons_dir=folder) as explorer:
            for path, lesson in lessons:
                steps = range(len(lesson.steps))
                wrong = [f"{path}: {fault}" for index in steps for fault in _faults(explorer, lesson, index, measures)]
                print("\n".join(wrong) or f"{path}: {len(steps)} steps, no fault")
                faults += len(wrong)
    return WRONG_PROGRAM if faults else 0


def _files(names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name)
        found = sorted(path.glob("*.md")) if path.is_dir() else [path]
        if not found:
            raise Failure(f"{name} has no lesson: expected files such as 03_split.md", WRONG_COMMAND)
        yield from found


def _faults(explorer: Explorer, lesson: Lesson, index: int, measures: bool) -> Iterator[str]:
    step = lesson.steps[index]
    if not step.checks:
        return
    title = f"step {index + 1}"
    if step.answer is None:
        yield f"{title} has checks and no answer"
        return
    for verdict in _judged(explorer, lesson, index, step.answer, measures):
        if not verdict["passed"] and not verdict["unsure"]:
            yield f"{title}: the answer does not pass “{verdict['words']}”: {verdict['detail']}"
    begun = _judged(explorer, lesson, index, lesson.entered_with(index), measures=False)
    if begun and all(verdict["passed"] for verdict in begun):
        yield f"{title}: what it begins with passes already"


def _judged(explorer: Explorer, lesson: Lesson, index: int, script: str, measures: bool) -> list[dict[str, Any]]:
    """Return the verdicts of the checks that can be judged: no prediction, and no time unless it is measured."""
    step: Step = lesson.steps[index]
    body: dict[str, Any] = {"workspace": {"script": script}}
    body["predictions"] = {one.name: one.answer for one in step.checks if isinstance(one, Question)} if measures else {}
    if step.measuring and measures:
        path = "/api/ladders" if step.measuring == "ladder" else "/api/measure"
        started = ask(explorer, path, body["workspace"], LadderStarted)
        for _ in explorer.lines(started.events):
            continue
        body["ladder"] = started.id
    answer = msgspec.json.decode(explorer.send(f"/api/lessons/{lesson.name}/steps/{index + 1}/check", body))
    judged = zip(step.checks, answer["verdicts"], strict=True)
    return [one for kind, one in judged if not isinstance(kind, Prediction) and (measures or not kind.needs)]
