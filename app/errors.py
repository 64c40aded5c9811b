"""Exceptions of requests, with their HTTP statuses."""

from __future__ import annotations


class RequestError(Exception):
    """A request that cannot be fulfilled; base class of the errors that the explorer raises on purpose.

    Parameters
    ----------
    message
        A sentence for the user.
    field
        Path of the offending value in the request, where there is one.
    expected
        What would have been valid there.
    retry_after
        Seconds after which to retry.
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
    """The body is JSON, but a value in it is invalid."""

    status, code = 422, "invalid"


class Forbidden(RequestError):
    """The request comes from another site, or lacks a permission."""

    status, code, title = 403, "forbidden", "Not allowed"


class NotFound(RequestError):
    """Nothing exists under that name."""

    status, code, title = 404, "not_found", "Nothing here"


class Superseded(RequestError):
    """A newer request of the same tab took the place of this one."""

    status, code = 409, "superseded"


class TooLarge(RequestError):
    """The body or an attached file is larger than allowed."""

    status, code, title = 413, "too_large", "Too large"


class Overrun(RequestError):
    """To show something takes more time or memory than there is for it."""

    status, code, title = 422, "too_much_work", "Too large to be shown"


class Unbuildable(RequestError):
    """The script makes nothing that could become this file."""

    status, code, title = 404, "unbuildable", "There is no such file"


class Busy(RequestError):
    """Too many requests, of this client or of all."""

    status, code, title = 429, "busy", "Too many requests"


class Unavailable(RequestError):
    """The sandbox cannot run scripts now."""

    status, code, title = 503, "unavailable", "Not available now"


class StorageFull(RequestError):
    """The disk, or what the operator gave to uploads, is full; what was to be stored is not."""

    status, code, title = 507, "storage_full", "The server's storage is full"


class FromNewerVersion(RequestError):
    """Stored content is intact, but of a newer version than this server's."""

    status, code, title = 501, "newer_version", "Made by a newer version"


class Damaged(RequestError):
    """Stored content does not match the hash that it was stored under."""

    status, code, title = 500, "damaged", "This stored link is damaged"
