"""Messages of JSON-RPC 2.0, as the Model Context Protocol uses it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Raw

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR, RESOURCE_NOT_FOUND = -32603, -32002
Id = int | str


class ProtocolError(Exception):
    """A message that cannot be answered.

    Parameters
    ----------
    code
        Of JSON-RPC or of the protocol.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Incoming(msgspec.Struct, frozen=True):
    """A request, a notification (without id), or a response (without method), which nobody awaits."""

    jsonrpc: Literal["2.0"]
    method: str | None = None
    id: Id | msgspec.UnsetType | None = msgspec.UNSET
    params: Raw = Raw(b"{}")


def read(message: bytes) -> Incoming:
    """Decode a message.

    Raises
    ------
    ProtocolError
        If it is not JSON, or not one message.
    """
    try:
        incoming = msgspec.json.decode(message, type=Incoming)
    except msgspec.ValidationError as error:
        what = "batches are not supported" if message.lstrip().startswith(b"[") else f"not a JSON-RPC message: {error}"
        raise ProtocolError(INVALID_REQUEST, what) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(PARSE_ERROR, f"not JSON: {error}") from error
    if incoming.id is None and incoming.method is not None:  # whose sender awaits an answer
        raise ProtocolError(INVALID_REQUEST, "the id of a request must be a number or text, not null")
    return incoming


def result(number: Id, value: Any) -> bytes:
    """Return the response to a request."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "result": value})


def failure(number: Id | None, error: ProtocolError) -> bytes:
    """Return the response to a message that cannot be answered; its id is null where it could not be read."""
    return msgspec.json.encode(
        {"jsonrpc": "2.0", "id": number, "error": {"code": error.code, "message": error.message}}
    )
