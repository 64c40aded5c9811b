"""What may go wrong with a request, each with its HTTP status, as JSON for programs and as a page for people."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from flask import Flask, Response, make_response, render_template, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge, SecurityError

log = logging.getLogger(__name__)


class ErrorDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, for a program and for a person."""

    code: str
    """Stable word, e.g. ``not_found``."""
    message: str
    field: str | None = None
    """Path of the offending value in the request, e.g. ``$.options.threads``."""
    expected: str | None = None
    """What would have been right there."""


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every unsuccessful answer of the API."""

    error: ErrorDetail


class RequestError(Exception):
    """A request that cannot be answered as asked; the base of all that the explorer raises on purpose.

    Parameters
    ----------
    message
        A sentence for the user.
    field
        Path of the offending value in the request, where there is one.
    expected
        What would have been right there.
    retry_after
        Seconds after which it makes sense to try again.
    """

    status = 400
    code = "bad_request"
    title = "That request cannot be answered"

    def __init__(
        self, message: str, *, field: str | None = None, expected: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.expected = expected
        self.retry_after = retry_after


class MalformedBody(RequestError):
    """The body is not JSON."""

    code = "malformed_json"


class WrongMediaType(RequestError):
    """The body is not declared as JSON."""

    status, code = 415, "unsupported_media_type"


class InvalidBody(RequestError):
    """The body is JSON, but a value in it is not what is expected there."""

    status, code = 422, "invalid"


class Forbidden(RequestError):
    """The request comes from another site, or without the right that it needs."""

    status, code, title = 403, "forbidden", "Not allowed"


class NotFound(RequestError):
    """There is nothing under that name."""

    status, code, title = 404, "not_found", "Nothing here"


class Superseded(RequestError):
    """A newer request of the same tab took the place of this one."""

    status, code = 409, "superseded"


class TooLarge(RequestError):
    """The body or an attached file is larger than allowed."""

    status, code, title = 413, "too_large", "Too large"


class Busy(RequestError):
    """Too many requests, of this client or of all."""

    status, code, title = 429, "busy", "Too many requests"


class Unavailable(RequestError):
    """The sandbox cannot run scripts now."""

    status, code, title = 503, "unavailable", "Not available now"


class Damaged(RequestError):
    """What is stored does not have the content that it was stored under."""

    status, code, title = 500, "damaged", "This stored link is damaged"


def wants_json() -> bool:
    """Whether the present request is one of a program."""
    return request.path.startswith("/api/") or request.path == "/healthz"


def _json(status: int, detail: ErrorDetail) -> Response:
    return Response(msgspec.json.encode(ErrorBody(error=detail)), status=status, mimetype="application/json")


def _answer(status: int, title: str, detail: ErrorDetail, retry_after: int | None = None) -> Response:
    if wants_json():
        response = _json(status, detail)
    else:
        page = render_template("error.html", status=status, title=title, message=detail.message)
        response = make_response(page, status)
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    response.headers["Cache-Control"] = "no-store"
    return response


def _request_error(error: RequestError) -> Response:
    detail = ErrorDetail(code=error.code, message=error.message, field=error.field, expected=error.expected)
    return _answer(error.status, error.title, detail, error.retry_after)


def _http_error(error: HTTPException) -> Response:
    if error.response is not None:  # a redirect, or an answer that somebody made already
        return make_response(error.response)
    status = error.code or 500
    code = (error.name or "error").lower().replace(" ", "_")
    message, expected = error.description or error.name, None
    if isinstance(error, RequestEntityTooLarge):
        code, message = TooLarge.code, "the request is larger than this server accepts"
    if isinstance(error, SecurityError):  # Flask knows no addresses then, which the links of a page need
        return _json(status, ErrorDetail(code="unknown_host", message="this server does not answer to that host name"))
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        expected = ", ".join(sorted(error.valid_methods))
        message = f"{request.method} is not possible here"
    response = _answer(status, error.name, ErrorDetail(code=code, message=message, expected=expected))
    if expected:
        response.headers["Allow"] = expected
    return response


def _unexpected(error: Exception) -> Response:
    log.exception("%s %s failed", request.method, request.path, exc_info=error)
    message = "something went wrong inside the explorer; it has been noted, and your work is untouched"
    return _answer(500, "Something went wrong", ErrorDetail(code="internal", message=message))


def install(app: Flask) -> None:
    """Answer every failure of ``app`` in the form that the client asked for, never with a traceback."""
    handlers: list[tuple[type[Exception], Any]] = [
        (RequestError, _request_error),
        (HTTPException, _http_error),
        (Exception, _unexpected),
    ]
    for kind, handler in handlers:
        app.register_error_handler(kind, handler)
