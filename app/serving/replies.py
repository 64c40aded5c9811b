"""Responses, complete or streamed, on their way from a thread to a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING

import h11
import msgspec

from app.counts import REFUSALS
from app.errors import RequestError
from app.spool import Spool
from app.web.error_responses import ErrorBody, ErrorDetail
from app.web.streams import Stream

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

Headers = list[tuple[str, str]]


@dataclass(slots=True)
class Reply:
    """A response: its body is bytes, or a stream of what is still to come."""

    status: int
    reason: str
    headers: Headers
    body: bytes | Spool | Stream
    closed: Callable[[], None] = field(default=lambda: None)
    """Called when the body was dropped."""

    @property
    def size(self) -> int | None:
        """Bytes of the body; None for a stream."""
        if isinstance(self.body, Stream):
            return None
        return self.body.size if isinstance(self.body, Spool) else len(self.body)

    def head(self, *, bodiless: bool, close: bool) -> h11.Response:
        """Return the status line and the headers.

        Parameters
        ----------
        bodiless : bool
            Whether no body follows, because the request was for the head alone.
        close : bool
            Whether the connection ends with this response.
        """
        headers, present = list(self.headers), {name.lower() for name, _ in self.headers}
        if "date" not in present:
            headers.append(("Date", formatdate(usegmt=True)))
        bodiless = bodiless or self.status in (204, 304)
        if self.size is not None and not bodiless and "content-length" not in present:
            headers.append(("Content-Length", str(self.size)))
        if close:
            headers.append(("Connection", "close"))
        return h11.Response(
            status_code=self.status,
            reason=self.reason.encode("latin-1"),
            headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        )

    def close(self) -> None:
        """Drop the body."""
        if not isinstance(self.body, bytes):
            self.body.close()
        self.closed()


def refusal(error: RequestError, request: str = "") -> Reply:
    """Return the response to a request, of this id, that never reached the application."""
    REFUSALS.add(error.code)
    detail = ErrorDetail(
        code=error.code, message=error.message, field=error.field, expected=error.expected, request=request or None
    )
    headers = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
    if error.retry_after is not None:
        headers.append(("Retry-After", str(error.retry_after)))
    return Reply(error.status, "", headers, msgspec.json.encode(ErrorBody(error=detail)))


def reply_of(application: WSGIApplication, environ: WSGIEnvironment, spool: Spool) -> Reply:
    """Return the response of a WSGI application.

    Parameters
    ----------
    spool : Spool
        Takes the body, unless that is a stream or lies in a spool of its own.
    """
    begun: list[tuple[str, Headers]] = []

    def start_response(status: str, headers: Headers, exc_info: object = None) -> Callable[[bytes], object]:
        begun.append((status, headers))
        return spool.write

    parts: Iterable[bytes] = application(environ, start_response)
    if isinstance(parts, Stream | Spool):
        spool.close()
        return _reply(begun, parts)
    try:
        for part in parts:
            spool.write(part)
    finally:
        close = getattr(parts, "close", None)
        if close is not None:
            close()
    return _reply(begun, spool)


def _reply(begun: list[tuple[str, Headers]], body: Spool | Stream) -> Reply:
    status, headers = begun[-1]
    code, _, reason = status.partition(" ")
    return Reply(int(code), reason, headers, body)
