"""The JSON API of permalinks."""

from __future__ import annotations

from flask import Blueprint, Response, request

from app.errors import Forbidden
from app.panes.fingerprints import fingerprints
from app.services import current_services
from app.store.links import OpenedLink, SavedLink, SharedState, canonical
from app.views.api import answer_json
from app.web.openapi import json_of, operation
from app.web.requests import current_client, read_body

bp = Blueprint("links", __name__, url_prefix="/api/links")
TOKEN_HEADER = "X-Delete-Token"


@bp.post("")
@operation(body=SharedState, answers={201: json_of(SavedLink)})
def create() -> Response:
    """Store a workspace and its view for ever; the same content always gets the same id."""
    services, state = current_services(), read_body(SharedState)
    services.workspace_limits.check(state.workspace)
    services.storing.charge(current_client().address, len(canonical(state)))
    seen = services.compiler.cached(state.workspace)
    outputs = fingerprints(seen) if seen is not None and seen.status == "ok" else {}
    return answer_json(services.links.create(state, outputs), 201)


@bp.get("/<link>")
@operation(answers={200: json_of(OpenedLink)})
def open_(link: str) -> Response:
    """Return the content of a link."""
    return answer_json(current_services().links.open(link))


@bp.delete("/<link>")
@operation(answers={204: None}, headers={TOKEN_HEADER: "The token that was returned when the link was created."})
def delete(link: str) -> Response:
    """Delete a link."""
    token = request.headers.get(TOKEN_HEADER)
    if not token:
        raise Forbidden("only its creator deletes a link", field=TOKEN_HEADER, expected="the token from its creation")
    current_services().links.delete(link, token)
    return Response(status=204)
