"""Lessons: the list, the pages, and the checks of steps."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Blueprint, Response, render_template, request
from msgspec import Meta

from app.artifacts import Measurement, Mode, Workspace
from app.errors import InvalidBody, NotFound
from app.jobs.cache import content_key
from app.lessons import Lesson, Step, Verdict
from app.services import current_services
from app.views.api import answer_json
from app.views.explorer import compiled_parts, page_pieces
from app.web.openapi import json_of, operation
from app.web.requests import current_client, read_body
from app.workers.tasks import JudgeStep, Verdicts

bp = Blueprint("lessons", __name__)


class CheckRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step submitted by a student."""

    workspace: Workspace
    ladder: Annotated[str, Meta(max_length=64)] = ""
    """Id of the server's measurement of this workspace, if the step needs one."""
    predictions: dict[Annotated[str, Meta(max_length=30)], float] = {}
    """The student's predictions, by name of the check."""


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of the checks of a step."""

    passed: bool
    verdicts: list[Verdict]


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """The version of a lesson's file."""

    revision: str
    errors: list[str]
    """Errors in the teacher's lesson directory."""


def lesson_of(name: str) -> Lesson:
    """Return a lesson.

    Raises
    ------
    NotFound
        If there is no lesson of that name.
    """
    library = current_services().lessons
    lesson = library.find(name)
    if lesson is None:
        problem = library.problem(name)
        raise NotFound(f"there is no lesson {name!r}{f' yet: {problem}' if problem else ''}", field="lesson")
    return lesson


def step_of(lesson: Lesson, number: int) -> Step:
    """Return a step of a lesson by its 1-based number.

    Raises
    ------
    NotFound
        If the lesson has no such step.
    """
    if not 1 <= number <= len(lesson.steps):
        raise NotFound(f"the lesson {lesson.name!r} has {len(lesson.steps)} steps, no step {number}", field="step")
    return lesson.steps[number - 1]


@bp.get("/learn")
def index() -> str:
    """The list of lessons."""
    library = current_services().lessons
    parts: dict[str, list[Lesson]] = {}
    for lesson in library.lessons:
        parts.setdefault(lesson.settings.part, []).append(lesson)
    return render_template("learn.html", parts=parts.items(), errors=library.errors)


@bp.get("/learn/<lesson>")
def open_lesson(lesson: str) -> str:
    """A lesson, beside its workspace."""
    chosen = lesson_of(lesson)
    workspace = Workspace(script=chosen.begins_with)
    return "".join(page_pieces(workspace, compiled=compiled_parts(workspace), title=chosen.title, lesson=chosen))


@bp.get("/learn/<lesson>/board")
def board(lesson: str) -> str:
    """The board of a class, and how far it is, for a projector."""
    return render_template("class_board.html", lesson=lesson_of(lesson), name=request.args.get("class", "")[:20])


@bp.get("/api/lessons/<lesson>/revision")
@operation(answers={200: json_of(Revision)})
def revision(lesson: str) -> Response:
    """Return a hash of a lesson's file, for reloading after edits."""
    chosen = lesson_of(lesson)
    return answer_json(
        Revision(revision=chosen.revision, errors=current_services().lessons.errors if chosen.own else [])
    )


@bp.post("/api/lessons/<lesson>/steps/<int:number>/check")
@operation(body=CheckRequest, answers={200: json_of(StepResult)})
def check(lesson: str, number: int) -> Response:
    """Evaluate the checks of a lesson step on a workspace."""
    asked = read_body(CheckRequest)
    return answer_json(judged(step_of(lesson_of(lesson), number), asked))


def judged(step: Step, asked: CheckRequest) -> StepResult:
    """Compile a workspace and evaluate the checks of a step."""
    services, client = current_services(), current_client()
    measurements = measurements_of(step, asked)
    answer = services.compiler.compile(asked.workspace, client)
    is_known = answer.status == "ok" and (bool(measurements) or not step.measuring)
    compares = step.compares_definitions and is_known
    definition = services.definer.definition(step.answer or "", client) if compares else ""
    computed = services.definer.definition(asked.workspace.script, client) if compares and not measurements else ""
    task = JudgeStep(list(step.checks), measurements, asked.predictions, definition, computed)
    verdicts = services.renderer.perform(task, Verdicts, [answer], client.address).verdicts
    return StepResult(passed=all(verdict.passed for verdict in verdicts), verdicts=verdicts)


def measurements_of(step: Step, asked: CheckRequest) -> list[Measurement]:
    """Return the server's measurements of a workspace, if the step needs them.

    Raises
    ------
    NotFound
        If the measurement is no longer stored.
    InvalidBody
        If it is of a different workspace or kind.
    """
    if not step.measuring or not asked.ladder:
        return []
    ladder = current_services().ladders.get(asked.ladder)
    mode: Mode = "ladder" if step.measuring == "ladder" else "record"
    if ladder.workspace != content_key(mode, asked.workspace):
        raise InvalidBody(
            "this measurement is of another script", field="$.ladder", expected="a measurement of this one"
        )
    return ladder.measurements
