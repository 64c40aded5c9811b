"""Error responses: JSON for programs, HTML for people, never a traceback."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from flask import Flask, Response, make_response, render_template, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge, SecurityError

from app.counts import REFUSALS
from app.errors import RequestError, TooLarge
from app.logs import quoted, reference, request_id
from app.store.faults import disk_full, is_disk_full

log = logging.getLogger(__name__)


class ErrorDetail(msgspec.Struct, frozen=True, kw_only=True):
    """An error, for programs and for people."""

    code: str
    """Stable error code, e.g. ``not_found``."""
    message: str
    field: str | None = None
    """Path of the offending value in the request, e.g. ``$.options.threads``."""
    expected: str | None = None
    """Description of valid values."""
    request: str | None = None
    """Id of the request, which the server's log names."""


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of error responses of the API."""

    error: ErrorDetail


def wants_json() -> bool:
    """Return whether the current request comes from a program instead of the page."""
    return request.path.startswith("/api/") or request.path in ("/healthz", "/readyz", "/metrics", "/mcp")


def _json(status: int, detail: ErrorDetail) -> Response:
    detail = msgspec.structs.replace(detail, request=request_id.get() or None)
    return Response(msgspec.json.encode(ErrorBody(error=detail)), status=status, mimetype="application/json")


def _answer(status: int, title: str, detail: ErrorDetail, retry_after: int | None = None) -> Response:
    if wants_json():
        response = _json(status, detail)
    else:
        shown = {"title": title, "message": detail.message, "request": request_id.get()}
        page = render_template("error.html", status=status, **shown)
        response = make_response(page, status)
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    response.headers["Cache-Control"] = "no-store"
    return response


def _request_error(error: RequestError) -> Response:
    REFUSALS.add(error.code)
    detail = ErrorDetail(code=error.code, message=error.message, field=error.field, expected=error.expected)
    return _answer(error.status, error.title, detail, error.retry_after)


def _http_error(error: HTTPException) -> Response:
    if error.response is not None:  # a redirect, or an existing response
        return make_response(error.response)
    status = error.code or 500
    code = (error.name or "error").lower().replace(" ", "_")
    message, expected = error.description or error.name, None
    if isinstance(error, RequestEntityTooLarge):
        code, message = TooLarge.code, "the request is larger than this server accepts"
    if isinstance(error, SecurityError):  # no HTML, as its links would lead to that host
        return _json(status, ErrorDetail(code="unknown_host", message="this server does not answer to that host name"))
    if status == 404 and wants_json():
        message, expected = f"there is no route {request.path[:200]}", "one of GET /api/openapi.json"
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        expected = ", ".join(sorted(error.valid_methods))
        message = f"{request.method} is not allowed here"
    response = _answer(status, error.name, ErrorDetail(code=code, message=message, expected=expected))
    if isinstance(error, MethodNotAllowed) and expected:
        response.headers["Allow"] = expected
    return response


def _unexpected(error: Exception) -> Response:
    if is_disk_full(error):  # request bodies are spooled to disk
        return _request_error(disk_full("the request"))
    log.exception("%s failed", quoted(f"{request.method} {request.path}"), exc_info=error)
    message = f"an internal error occurred; it has been logged{reference()}, and your work is untouched"
    return _answer(500, "Something went wrong", ErrorDetail(code="internal", message=message))


def install(app: Flask) -> None:
    """Handle every error of ``app``: JSON for programs, a page for people, never a traceback."""
    handlers: list[tuple[type[Exception], Any]] = [
        (RequestError, _request_error),
        (HTTPException, _http_error),
        (Exception, _unexpected),
    ]
    for kind, handler in handlers:
        app.register_error_handler(kind, handler)
