"""Takes every lesson as a student does who knows the answers: compiles, measures and checks each step for real.

python -m tests.benchmarks.lessons [lesson …]     prints each verdict; ends with 1 where an answer does not pass
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence

from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from app.artifacts import Answer
from app.lessons import Lesson, Library, Step
from app.lessons.checks import Prediction, Question, measured
from app.lessons.evidence import Evidence
from app.services import services_of


def main(names: Sequence[str]) -> int:
    """Take the lessons of these names, or all; return how many steps did not pass, or passed at once."""
    app = create_app({"DATA_DIR": tempfile.mkdtemp(), "RATE_LIMIT": 0, "COMPILE_SECONDS": 60})
    services = services_of(app)
    try:
        lessons = [lesson for lesson in Library().lessons if not names or lesson.name in names]
        return sum(take(app, lesson, number) for lesson in lessons for number in range(1, len(lesson.steps) + 1))
    finally:
        services.runner.close()
        services.renderer.close()


def take(app: Flask, lesson: Lesson, number: int) -> bool:
    """Check what a step begins with, and its answer; return whether either came out wrong."""
    step = lesson.steps[number - 1]
    if not step.checks or step.answer is None:
        return False
    begun = check(app, lesson, number, lesson.entered_with(number - 1), guesses=False)
    answered = check(app, lesson, number, step.answer, guesses=True)
    wrong = begun["passed"] or not answered["passed"]
    print(f"{lesson.name} {number}: {'WRONG' if wrong else 'right'}")
    for verdict in answered["verdicts"]:
        print(f"    {'✓' if verdict['passed'] else '✗'} {verdict['words']}: {verdict['detail']}")
    return wrong


def check(app: Flask, lesson: Lesson, number: int, script: str, guesses: bool) -> dict:  # type: ignore[type-arg]
    """Return the result of a step for a script, with perfect predictions or with none."""
    client, step = app.test_client(), lesson.steps[number - 1]
    workspace = {"script": script}
    ladder = measure(client, step, workspace)
    body = {"workspace": workspace, "ladder": ladder, "predictions": predictions(app, step, ladder) if guesses else {}}
    return client.post(f"/api/lessons/{lesson.name}/steps/{number}/check", json=body).get_json()


def measure(client: FlaskClient, step: Step, workspace: dict[str, str]) -> str:
    """Measure what a step needs, and return the measurement's id."""
    if not step.measuring:
        return ""
    address = "/api/ladders" if step.measuring == "ladder" else "/api/measure"
    started = client.post(address, json=workspace).get_json()
    _ = client.get(started["events"]).data  # to its end
    return str(started["id"])


def predictions(app: Flask, step: Step, ladder: str) -> dict[str, float]:
    """Return what a student types who knows the future."""
    measurements = services_of(app).ladders.get(ladder).measurements if ladder else []
    evidence = Evidence(Answer(), measurements)
    typed = {check.name: check.answer for check in step.checks if isinstance(check, Question)}
    foreseen = {c.name: measured(evidence, c.of) or 0.0 for c in step.checks if isinstance(c, Prediction)}
    return {**typed, **foreseen}


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
