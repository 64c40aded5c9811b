"""The explorer for assistants: the Model Context Protocol over HTTP, without sessions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
from flask import Blueprint, Flask, Response, current_app, request
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Response as WerkzeugResponse

from app.errors import MalformedBody, WrongMediaType
from app.jobs.callers import waiting
from app.mcp.server import REVISIONS, Assistants
from app.mcp.tools import Refused
from app.services import current_services
from app.web.error_responses import ErrorBody
from app.web.streams import lines_of

bp = Blueprint("mcp", __name__)


@bp.post("/mcp")
def call() -> Response:
    """Answer a message of an assistant: the request is complete in itself, and so is the response."""
    if request.mimetype != "application/json":
        raise WrongMediaType("the message is not declared as JSON", expected="Content-Type: application/json")
    revision = request.headers.get("MCP-Protocol-Version", REVISIONS[-1])
    if revision not in REVISIONS:
        raise MalformedBody(f"there is no revision {revision[:40]!r} here", expected=", ".join(REVISIONS))
    services = current_services()
    answer, read = Assistants(services.lessons, services.gallery).answer(request.get_data(cache=False), _OwnApi())
    if not answer:
        return Response(status=202)
    response = Response(answer, status=200 if read else 400, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


class _OwnApi:
    """The routes of this application, on behalf of the current client: with its quotas, and cancelled when it goes."""

    @property
    def address(self) -> str:
        """Address of this server."""
        return request.host_url.rstrip("/")

    def send(self, path: str, body: object | None) -> bytes:
        """Return the body of the response.

        Raises
        ------
        Refused
            With the message of an error response.
        """
        response = self._ask(path, body)
        content = response.get_data()
        if response.status_code >= 400:
            error = msgspec.json.decode(content, type=ErrorBody).error
            expected = f", expected {error.expected}" if error.expected else ""
            raise Refused(f"{error.message}{f' ({error.field})' if error.field else ''}{expected}")
        return content

    def lines(self, path: str) -> Iterator[bytes]:
        """Return the lines of a stream, until it ends or the client goes."""
        gone = threading.Event()
        with waiting(gone.set):
            for line in lines_of(self._ask(path, None).response):
                if gone.is_set():
                    return
                yield line

    def _ask(self, path: str, body: object | None) -> WerkzeugResponse:
        builder = EnvironBuilder(
            path=path,
            method="GET" if body is None else "POST",
            data=None if body is None else msgspec.json.encode(body),
            content_type="application/json",
            base_url=request.host_url,
            environ_overrides={"REMOTE_ADDR": request.remote_addr},
        )
        app: Any = current_app._get_current_object()  # type: ignore[attr-defined]
        return WerkzeugResponse.from_app(partial(Flask.wsgi_app, app), builder.get_environ())
