"""Workspaces that several people edit together: their page, and the JSON API."""

from __future__ import annotations

from typing import Annotated

import msgspec
from flask import Blueprint, Response, redirect, request, url_for
from msgspec import Meta
from werkzeug import Response as AnyResponse

from app.errors import Forbidden
from app.live.people import Place
from app.live.sessions import Attendance, Company, LiveSession, LiveState, PenAnswer, Setting, Written
from app.names import chosen_name
from app.services import current_services
from app.store.links import SavedLink
from app.views.api import answer_json
from app.views.explorer import cached_parts, page_pieces, title_of
from app.web.openapi import Content, json_of, operation
from app.web.requests import current_client, read_body
from app.web.spooling import spooled
from app.web.streams import FollowedStream, event, streamed

bp = Blueprint("live", __name__)
Key = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z", examples=["0123456789abcdef" * 2])]
"""What a tab is known by; nobody else hears it."""
Name = Annotated[str, Meta(max_length=100)]
Seat = Annotated[int, Meta(ge=0, le=100)]


class NewSession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace to edit together."""

    key: Key
    script: str
    name: Name = ""
    setting: Setting = Setting()


class SessionMade(msgspec.Struct, frozen=True, kw_only=True):
    """A newly made live workspace."""

    id: str
    """Whoever knows it takes part."""


class Presence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """That somebody is there, and where."""

    key: Key
    name: Name = ""
    """What they want to be called; empty to keep the name, or to be given one."""
    place: Place | None = None


class Edit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change of who holds the pen; what is not there stays as it is."""

    key: Key
    base: Annotated[int, Meta(ge=0, le=2**31)]
    """The version that it changes."""
    script: str | None = None
    setting: Setting | None = None
    place: Place | None = None


class PenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """To take the pen, to lay it down, or to hand it to somebody."""

    key: Key
    take: bool = True
    seat: Seat = 0
    """Who gets it; 0 for nobody."""


class Leaving(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who leaves, or freezes the workspace."""

    key: Key


class LiveText(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a live workspace."""

    version: int
    script: str
    setting: Setting | None = None
    """Only if it changed since the last event."""


class LiveNews(msgspec.Struct, frozen=True, kw_only=True):
    """What changed in a live workspace."""

    company: Company
    text: LiveText | None = None
    """Only if it changed since the last event."""


def session_of(name: str) -> LiveSession:
    """Return a live workspace, for a request that changes it."""
    services, address = current_services(), current_client().address
    one = services.live.get(name)
    services.editing.charge(f"{one.id} {address}")  # nobody uses up what others have
    services.editing_bytes.charge(address, request.content_length or 0)
    return one


@bp.get("/live/<name>")
def page(name: str) -> AnyResponse:
    """The page of a live workspace; one that was frozen is at its permalink."""
    _, state, link = current_services().live.get(name).content()
    if link:
        return redirect(url_for("explorer.open_link", link=link))
    workspace = state.workspace
    pieces = page_pieces(workspace, compiled=cached_parts(workspace), title=title_of(workspace.script), live=name)
    response = spooled((piece.encode() for piece in pieces), "text/html")
    response.headers["X-Robots-Tag"] = "noindex"
    response.headers["Cache-Control"] = "no-store"
    return response


@bp.post("/api/live")
@operation(body=NewSession, answers={201: json_of(SessionMade)})
def create() -> Response:
    """Make a live workspace, in which its maker holds the pen."""
    asked, services, client = read_body(NewSession), current_services(), current_client()
    services.workspace_limits.check(asked.setting.with_script(asked.script).workspace)
    made = services.live.create(asked.key, client.address, _name(asked.name), asked.script, asked.setting)
    return answer_json(SessionMade(id=made.id), 201)


@bp.post("/api/live/<name>/people")
@operation(body=Presence, answers={200: json_of(Attendance)})
def attend(name: str) -> Response:
    """Report that somebody is there, who gets a seat the first time, and where they are in the script."""
    one, asked = session_of(name), read_body(Presence)
    return answer_json(one.attend(asked.key, _name(asked.name), asked.place))


@bp.post("/api/live/<name>/departure")
@operation(body=Leaving, answers={204: None})
def depart(name: str) -> Response:
    """Leave, and lay down the pen."""
    session_of(name).depart(read_body(Leaving).key)
    return Response(status=204)


@bp.put("/api/live/<name>/text")
@operation(body=Edit, answers={200: json_of(Written)})
def write(name: str) -> Response:
    """Change the workspace, which only who holds the pen may, and only the newest version."""
    one, asked = session_of(name), read_body(Edit)
    if asked.setting is not None:
        current_services().workspace_limits.check(asked.setting.with_script("").workspace)
    return answer_json(one.write(asked.key, asked.base, asked.script, asked.setting, asked.place))


@bp.post("/api/live/<name>/pen")
@operation(body=PenRequest, answers={200: json_of(PenAnswer)})
def pass_pen(name: str) -> Response:
    """Take the pen if it is free, else ask its holder for it; or lay it down or hand it on."""
    one, asked = session_of(name), read_body(PenRequest)
    if asked.take:
        return answer_json(one.take_pen(asked.key))
    one.lay_pen(asked.key, asked.seat)
    return answer_json(PenAnswer(yours=False))


@bp.post("/api/live/<name>/link")
@operation(body=Leaving, answers={201: json_of(SavedLink)})
def freeze(name: str) -> Response:
    """Freeze the workspace to a permalink, which ends the session; only who holds the pen may."""
    one, asked, services = session_of(name), read_body(Leaving), current_services()
    one.require_pen(asked.key)
    written, state, _ = one.content()
    saved = services.links.create(state, services.storing.of(current_client().address))
    if not one.freeze(asked.key, written, saved.id):
        services.links.delete(saved.id, saved.delete_token)  # nobody else has the token
        raise Forbidden("the pen or the text has changed since", field="key")
    return answer_json(saved, 201)


@bp.get("/api/live/<name>/events")
@operation(answers={200: Content("text/event-stream", LiveNews)}, query={"listener": "Who listens, as they were told."})
def events(name: str) -> Response:
    """Stream the text of a live workspace, and who is there."""
    one = current_services().live.get(name)
    listener = request.args.get("listener", "")
    one.require(listener)
    one.admit()
    return streamed(LiveStream(one, listener), "text/event-stream")


def _name(text: str) -> str:
    return chosen_name(text) if text.strip() else ""


class LiveStream(FollowedStream[LiveState]):
    """The events of a live workspace; slow clients skip outdated ones."""

    def __init__(self, followed: LiveSession, listener: str) -> None:
        super().__init__(followed)
        self._listener = listener
        self._left = False
        self._written = self._arranged = 0

    def read(self) -> bytes | None:
        """Return the newest events, and None once who listens is not there any more."""
        told = super().read()
        return None if self._left else told

    def tell(self, news: LiveState) -> bytes:
        """Return the text if it changed, and who is there."""
        if self._listener not in news.listeners:
            self._left = True
            return b""
        text = b""
        if news.written > self._written:
            setting = b',"setting":' + news.setting if news.arranged > self._arranged else b""
            text = b',"text":{"version":%d,"script":%s%s}' % (news.written, news.script, setting)
            self._written, self._arranged = news.written, news.arranged
        return event("news", b'{"company":%s%s}' % (news.company, text))
