"""The JSON API of permalinks."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response, request

from app.challenges import OWN
from app.errors import Forbidden
from app.panes.selection import View
from app.services import current_services
from app.store.links import OpenedLink, SavedLink, SharedState
from app.views.api import answer_json
from app.views.opening import opened
from app.web.openapi import json_of, operation
from app.web.requests import current_client, read_body
from app.web.spooling import spooled
from app.workers.tasks import ComputeFingerprints, FindTexts, Fingerprints, ShownText, ShownTexts

bp = Blueprint("links", __name__, url_prefix="/api/links")
TOKEN_HEADER = "X-Delete-Token"


@bp.post("")
@operation(body=SharedState, answers={201: json_of(SavedLink)})
def create() -> Response:
    """Store a workspace and its view permanently; equal content gets the same id."""
    services, client, state = current_services(), current_client().address, read_body(SharedState)
    services.workspace_limits.check(state.workspace)
    seen = services.compiler.cached(state.workspace)
    outputs: dict[str, str] = {}
    if seen is not None and seen.status == "ok":
        outputs = services.renderer.perform(ComputeFingerprints(), Fingerprints, [seen], client).hashes
    return answer_json(services.links.create(state, services.storing.of(client), outputs), 201)


@bp.get("/<link>")
@operation(answers={200: json_of(OpenedLink)}, stateless=True)
def open_(link: str) -> Response:
    """Return the content of a link."""
    with opened(link) as content:
        response = spooled([msgspec.json.encode(content)], "application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


class LinkedTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The current texts of the panes of a link."""

    id: str
    texts: dict[str, ShownText]
    """Texts by name of the pane, usable for comparisons while the answer is cached."""


@bp.post("/<link>/texts")
@operation(answers={200: json_of(LinkedTexts)}, stateless=True)
def texts(link: str) -> Response:
    """Compile the workspace of a link, and return the keys of its panes' texts for comparisons."""
    services, client = current_services(), current_client()
    with opened(link) as content:
        state = content.state
        answer = services.compiler.compile(state.workspace, client)
        task = FindTexts(View.read(msgspec.json.encode(state.view).decode()), state.workspace.options)
        shown = services.renderer.perform(task, ShownTexts, [answer], client.address)
        return answer_json(LinkedTexts(id=content.id, texts=shown.texts))


@bp.delete("/<link>")
@operation(answers={204: None}, headers={TOKEN_HEADER: "The token that was returned when the link was created."})
def delete(link: str) -> Response:
    """Delete a link."""
    token = request.headers.get(TOKEN_HEADER)
    if not token:
        raise Forbidden(
            "only its creator can delete a link", field=TOKEN_HEADER, expected="the token from its creation"
        )
    services = current_services()
    services.links.delete(link, token)
    if not services.links.exists(link):
        services.boards.forget(f"{OWN}{link}")
    return Response(status=204)
