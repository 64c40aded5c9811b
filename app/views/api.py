"""The JSON API: everything the page does, for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from flask import Blueprint, Response, current_app, request, url_for
from msgspec import Meta

from app import __version__
from app.artifacts import Answer, Workspace
from app.errors import InvalidBody
from app.jobs.answers import StoredAnswer
from app.jobs.ladders import Ladder, LadderEvent
from app.jobs.measurer import What
from app.services import current_services
from app.store.uploads import Upload
from app.web.openapi import Content, describe, json_of, operation
from app.web.requests import WorkspaceRequest, current_client, read_body
from app.web.streams import Stream, streamed

bp = Blueprint("api", __name__, url_prefix="/api")


class CompileRequest(WorkspaceRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and its position in a sequence of edits."""

    tab: Annotated[str, Meta(max_length=64)] = ""
    """Name of the page; a newer request of the same tab supersedes an older one."""
    seq: Annotated[int, Meta(ge=0)] | None = None
    """Sequence number, which increases with each request of a tab."""


class LadderStarted(msgspec.Struct, frozen=True, kw_only=True):
    """A ladder that is queued or running."""

    id: str
    events: str
    """URL of its server-sent events."""


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """Positions of the client's requests in the queues, from 1."""

    compiling: list[int]
    measuring: list[int]


def answer_json(value: object, status: int = 200) -> Response:
    """Return a JSON response."""
    response = Response(msgspec.json.encode(value), status=status, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


def _answer(answer: StoredAnswer) -> Response:
    """Return a complete answer, compressed as stored if the client accepts that."""
    packed = bool(request.accept_encodings["gzip"])
    response = Response(answer.packed if packed else answer.json(), mimetype="application/json")
    response.headers["Cache-Control"] = "no-store"
    response.vary.add("Accept-Encoding")
    if packed:
        response.content_encoding = "gzip"
    return response


@bp.post("/compile")
@operation(body=CompileRequest, answers={200: json_of(Answer)}, stateless=True)
def compile_() -> Response:
    """Run a script briefly, and return everything recorded of its compilation.

    Kernels run at most once.  Errors of the script are in ``problems`` of a successful response; error responses are
    about the request.
    """
    asked = read_body(CompileRequest)
    return _answer(current_services().compiler.compile(asked.workspace, current_client(asked.tab), asked.seq))


@bp.post("/run")
@operation(body=CompileRequest, answers={200: json_of(Answer)}, stateless=True)
def run() -> Response:
    """Run a script in full, including measurements, with no other measurement on the same cores."""
    asked = read_body(CompileRequest)
    return _answer(current_services().compiler.run(asked.workspace, current_client(asked.tab), asked.seq))


@bp.post("/uploads")
@operation(answers={201: json_of(Upload)}, form={"file": "The file, such as a model, which is stored under its hash."})
def upload() -> Response:
    """Store a file that is too large for every request; workspaces refer to it in ``uploads``."""
    file = request.files.get("file")
    if file is None:
        raise InvalidBody("there is no file in the form", field="$.file", expected="a form field `file` with a file")
    services = current_services()
    return answer_json(services.uploads.put(file.stream, services.storing.of(current_client().address)), 201)


@bp.get("/queue")
@operation(answers={200: json_of(Queue)}, query={"tab": "Name of a page, to select its requests."})
def queue() -> Response:
    """Return the positions of this client's requests in the queues."""
    services, client = current_services(), current_client(request.args.get("tab", ""))
    compiling, measuring = services.compiling.places_of(*client), services.measuring.places_of(*client)
    return answer_json(Queue(compiling=compiling, measuring=measuring))


@bp.post("/ladders")
@operation(body=Workspace, answers={202: json_of(LadderStarted)}, stateless=True)
def start_ladder() -> Response:
    """Measure every prefix of the script's last schedule.

    The script runs in one process, which records the schedule; a separate process, which never runs the script,
    measures the record.  The event `source` reports this, or why the script's own process measures.
    """
    return _started("ladder")


@bp.post("/measure")
@operation(body=Workspace, answers={202: json_of(LadderStarted)}, stateless=True)
def measure() -> Response:
    """Measure each scheduled function of the script, in processes that never run the script."""
    return _started("record")


def _started(what: What) -> Response:
    ladder = current_services().ladders.start(read_body(Workspace), current_client(), what)
    started = LadderStarted(id=ladder.id, events=url_for("api.ladder_events", ladder=ladder.id))
    return answer_json(started, 202)


@bp.get("/ladders/<ladder>/events")
@operation(
    answers={200: Content("text/event-stream", LadderEvent)},
    optional_headers={"Last-Event-ID": "Number of the last received event, to continue after it."},
    query={"after": "The same, for a client that begins to listen anew."},
    stateless=True,
)
def ladder_events(ladder: str) -> Response:
    """Stream the events of a ladder: position in the queue, progress, measurements, end."""
    last = request.headers.get("Last-Event-ID") or request.args.get("after", "")
    followed = current_services().ladders.get(ladder)
    followed.admit()
    after = int(last) if last.isdecimal() and len(last) < 10 else 0
    return streamed(EventStream(followed, after), "text/event-stream")


class EventStream(Stream):
    """The events of a ladder as server-sent events.

    Parameters
    ----------
    after : int
        Number of events that the client has received already.
    """

    heartbeat = b": still here\n\n"

    def __init__(self, ladder: Ladder, after: int) -> None:
        self._ladder = ladder
        self._next = after
        self._begun = False

    def attach(self, wake: Callable[[], None]) -> None:
        """Subscribe to the ladder."""
        self._ladder.listen(self, wake)

    def read(self) -> bytes | None:
        """Return the next event."""
        if not self._begun:
            self._begun = True
            return b": begins\n\n"
        entry = self._ladder.entry(self._next)
        if entry is None:
            return None if self._ladder.over(self._next) else b""
        self._next += 1
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (self._next, entry.kind.encode(), entry.data)

    def close(self) -> None:
        """Unsubscribe."""
        self._ladder.leave(self)


@bp.delete("/ladders/<ladder>")
@operation(answers={204: None}, stateless=True)
def stop_ladder(ladder: str) -> Response:
    """Stop a ladder; measurements made so far remain."""
    current_services().ladders.get(ladder).stop()
    return Response(status=204)


@bp.get("/openapi.json")
@operation(answers={200: json_of(dict[str, Any])}, stateless=True)
def openapi() -> Response:
    """Return the OpenAPI description of this API."""
    return answer_json(describe(current_app._get_current_object(), __version__))  # type: ignore[attr-defined]
