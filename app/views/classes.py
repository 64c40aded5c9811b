"""The JSON API of classes: creation, participation, presenting, leaderboard."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Blueprint, Response, request
from msgspec import Meta

from app.artifacts import Answer
from app.lessons.classes import Admission, LessonClass, News, Presented, StudentRow
from app.lessons.evidence import Evidence
from app.services import current_services
from app.views.api import answer_json
from app.views.lessons import CheckRequest, StepResult, judged, lesson_of, measurements_of, step_of
from app.web.openapi import Content, json_of, operation
from app.web.requests import current_client, read_body
from app.web.streams import FollowedStream, event, streamed

bp = Blueprint("classes", __name__, url_prefix="/api/classes")
SECRET_HEADER = "X-Class-Secret"
SECRET = {SECRET_HEADER: "The secret of the teacher's link."}
StudentKey = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]


class NewClass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The lesson to create a class for."""

    lesson: Annotated[str, Meta(max_length=100, examples=["first-compute"])]


class ClassMade(msgspec.Struct, frozen=True, kw_only=True):
    """A newly created class."""

    id: str
    secret: str
    """Secret of the teacher, which permits presenting; returned only once."""


class Attendance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The current step of a student."""

    student: StudentKey
    """Identifier of the browser, which is kept private."""
    step: Annotated[int, Meta(ge=1, le=100)]
    join: Annotated[str, Meta(max_length=40)] = ""
    """What the students' link says after ``join=``, for those who join; empty if it says nothing."""


class Renewal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is done when the students' link is renewed."""

    clear: bool = False
    """Whether students without a result are removed; those with one stay in any case."""


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """The name of a student in the class."""

    name: str


class StudentResult(CheckRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step submitted by a student for the leaderboard."""

    student: StudentKey
    number: Annotated[int, Meta(ge=1, le=100)]
    """Number of the step."""


def class_of(name: str) -> LessonClass:
    """Return a class by its name."""
    return current_services().classes.get(name)


def taught(name: str) -> LessonClass:
    """Return a class; raise an error unless the current request comes from its teacher."""
    one = class_of(name)
    one.require(request.headers.get(SECRET_HEADER, ""))
    return one


@bp.post("")
@operation(body=NewClass, answers={201: json_of(ClassMade)})
def create() -> Response:
    """Create a class for a lesson."""
    lesson = lesson_of(read_body(NewClass).lesson)
    made, secret = current_services().classes.create(lesson.name, current_client().address)
    return answer_json(ClassMade(id=made.id, secret=secret), 201)


@bp.post("/<name>/students")
@operation(body=Attendance, answers={200: json_of(Seat)})
def attend(name: str) -> Response:
    """Report the step of a student, who is given a name the first time."""
    one, asked = class_of(name), read_body(Attendance)
    name = one.attend(asked.student, asked.step, current_client().address, asked.join)
    return answer_json(Seat(name=name))


@bp.get("/<name>/students")
@operation(answers={200: json_of(list[StudentRow])}, headers=SECRET)
def students(name: str) -> Response:
    """List the students with their steps."""
    return answer_json(taught(name).students)


@bp.get("/<name>/admission")
@operation(answers={200: json_of(Admission)}, headers=SECRET)
def admission(name: str) -> Response:
    """Return whom the class lets in."""
    return answer_json(taught(name).admission)


@bp.post("/<name>/admission")
@operation(body=Renewal, answers={200: json_of(Admission)}, headers=SECRET)
def renew(name: str) -> Response:
    """Renew the students' link, so that nobody joins with the old one."""
    one = taught(name)
    one.renew_entry(read_body(Renewal).clear)
    return answer_json(one.admission)


@bp.post("/<name>/admission/crowds")
@operation(answers={200: json_of(Admission)}, headers=SECRET)
def admit_crowds(name: str) -> Response:
    """Let as many students join from one address as the class has places."""
    one = taught(name)
    one.admit_crowds()
    return answer_json(one.admission)


@bp.put("/<name>/presented")
@operation(body=Presented, answers={204: None}, headers=SECRET)
def present(name: str) -> Response:
    """Show the teacher's workspace to the class."""
    taught(name).present(read_body(Presented))
    return Response(status=204)


@bp.delete("/<name>/presented")
@operation(answers={204: None}, headers=SECRET)
def stop_presenting(name: str) -> Response:
    """Stop presenting."""
    taught(name).present(None)
    return Response(status=204)


@bp.delete("/<name>")
@operation(answers={204: None}, headers=SECRET)
def end(name: str) -> Response:
    """End a class, and delete all data of its students."""
    taught(name).dissolve()
    return Response(status=204)


@bp.post("/<name>/results")
@operation(body=StudentResult, answers={200: json_of(StepResult)})
def hand_in(name: str) -> Response:
    """Evaluate a step again, and enter the server's measurement of the lesson's computation into the leaderboard."""
    one, asked = class_of(name), read_body(StudentResult)
    step = step_of(lesson_of(one.lesson), asked.number)
    result = judged(step, asked)
    if result.passed and step.checks:
        evidence = Evidence(Answer(), measurements_of(step, asked))
        kernel, numpy = evidence.kernel, evidence.reference("numpy")
        seconds = kernel.seconds if kernel and step.compares_definitions else None
        times_numpy = numpy.seconds / seconds if numpy and seconds else None
        one.credit(asked.student, asked.number, seconds, times_numpy, evidence.busy)
    return answer_json(result)


@bp.get("/<name>/events")
@operation(answers={200: Content("text/event-stream", News)})
def events(name: str) -> Response:
    """Stream the events of a class: presented workspaces, and the leaderboard."""
    one = class_of(name)
    one.admit()
    return streamed(ClassStream(one), "text/event-stream")


class ClassStream(FollowedStream[bytes]):
    """The events of a class as server-sent events; slow clients skip outdated ones."""

    def tell(self, news: bytes) -> bytes:
        """Return what is presented, the board and the number of students."""
        return event("news", news)
