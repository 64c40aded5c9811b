"""The JSON API of classes: creation, participation, presenting, leaderboard."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Blueprint, Response, request
from msgspec import Meta

from app.artifacts import Answer
from app.lessons.classes import Admission, LessonClass, News, Presented, Seat, StudentRow
from app.lessons.evidence import Evidence
from app.names import chosen_name
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
    name: Annotated[str, Meta(max_length=100)] | None = None
    """The name that they choose; empty to be called by the one that they were given."""


class Renewal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is done when the students' link is renewed."""

    clear: bool = False
    """Whether students without a result are removed; those with one stay in any case."""


class Naming(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether names that students chose are hidden."""

    hidden: bool
    given: Annotated[str, Meta(max_length=40)] = ""
    """The name that the student was given; empty for all."""


class Wish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the teacher asks to look into a workspace."""

    given: Annotated[str, Meta(max_length=40)]
    """The name that the student was given."""
    ask: bool = True


class LookAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a student lets the teacher look."""

    student: StudentKey
    session: Annotated[str, Meta(pattern=r"^([\w-]{24})?\Z")] = ""
    """The id of the live workspace; empty to decline."""


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
    """Report the step of a student, who is given a name the first time, and may choose another."""
    one, asked = class_of(name), read_body(Attendance)
    chosen = None
    if asked.name is not None:
        current_services().naming.charge(asked.student)
        chosen = chosen_name(asked.name) if asked.name.strip() else ""
    one.attend(asked.student, asked.step, current_client().address, asked.join, chosen)
    return answer_json(one.seat(asked.student))


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


@bp.post("/<name>/names")
@operation(body=Naming, answers={204: None}, headers=SECRET)
def hide_names(name: str) -> Response:
    """Hide names that students chose, or show them again."""
    one, asked = taught(name), read_body(Naming)
    one.hide_names(asked.given, asked.hidden)
    return Response(status=204)


@bp.post("/<name>/looks")
@operation(body=Wish, answers={204: None}, headers=SECRET)
def ask_to_look(name: str) -> Response:
    """Ask a student to let the teacher look into their workspace."""
    one, asked = taught(name), read_body(Wish)
    one.ask_to_look(asked.given, asked.ask)
    return Response(status=204)


@bp.post("/<name>/looks/answers")
@operation(body=LookAnswer, answers={204: None})
def answer_look(name: str) -> Response:
    """Let the teacher look into a live workspace, or decline."""
    one, asked = class_of(name), read_body(LookAnswer)
    one.answer_look(asked.student, asked.session)
    return Response(status=204)


@bp.get("/<name>/results.csv")
@operation(answers={200: Content("text/csv")}, headers=SECRET)
def results(name: str) -> Response:
    """Return the passed steps and their times, one line each."""
    return Response(taught(name).results(), mimetype="text/csv")


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
