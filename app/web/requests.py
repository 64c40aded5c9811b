"""Request parsing: the client, and the JSON body with precise errors."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec
from flask import request

from app.artifacts import Workspace
from app.errors import InvalidBody, MalformedBody, TooLarge, WrongMediaType
from app.jobs.clients import Client, network_of

MAX_VALUES = 20_000
"""Maximum number of values of a request, apart from its script; benign ones have a few thousand at most."""


class _ScriptObject(msgspec.Struct):
    """An object with a script, which may contain any number of commas."""

    script: msgspec.Raw = msgspec.Raw(b"")


class _Outline(_ScriptObject):
    """A workspace, or an object with one; decoding skips everything else."""

    workspace: _ScriptObject = msgspec.field(default_factory=_ScriptObject)


_outline = msgspec.json.Decoder(_Outline)


def check_values(text: bytes) -> None:
    """Reject JSON with too many values, by counting commas: encoded files contain none, and names few.

    Parameters
    ----------
    text : bytes
        JSON from a client.

    Raises
    ------
    TooLarge
        If there are more than :data:`MAX_VALUES`.
    msgspec.MsgspecError, RecursionError
        If it is not a JSON object.
    """
    if text.count(b",") <= MAX_VALUES:
        return
    outline = _outline.decode(text)
    scripts = bytes(outline.script).count(b",") + bytes(outline.workspace.script).count(b",")
    count = text.count(b",") - scripts
    if count > MAX_VALUES:
        raise TooLarge(f"the request holds about {count:,} values", expected=f"at most {MAX_VALUES:,}")


Body = TypeVar("Body")
_PLACE = re.compile(r"(?P<what>.*?)(?: - at (?:`key` in )?`(?P<field>[^`]*)`)?", re.DOTALL)
_EXPECTED = re.compile(r"Expected (?P<expected>.*?)(?:, got .*)?", re.DOTALL)


class WorkspaceRequest(Workspace, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workspace, and what is asked about it."""

    @property
    def workspace(self) -> Workspace:
        """The workspace without the other fields."""
        return Workspace(script=self.script, files=self.files, uploads=self.uploads, options=self.options)


def current_client(tab: str = "") -> Client:
    """Return the client that sent the current request.

    Parameters
    ----------
    tab : str
        Name of the page; empty for clients whose requests never supersede each other.
    """
    return Client(network_of(request.remote_addr or ""), tab)


def read_body(kind: type[Body]) -> Body:
    """Return the JSON body of the current request.

    Raises
    ------
    WrongMediaType
        If the media type is not JSON.
    MalformedBody
        If the body is not JSON.
    InvalidBody
        If a value in it has the wrong type.
    TooLarge
        If it has too many values.
    """
    if request.mimetype != "application/json":
        declared = request.mimetype or "nothing"
        raise WrongMediaType(f"the body is declared as {declared}", expected="Content-Type: application/json")
    try:
        body = request.get_data(cache=False)
        check_values(body)
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise invalid(error) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedBody(f"the body is not JSON: {error}", expected="a JSON object") from error


def invalid(error: msgspec.ValidationError) -> InvalidBody:
    """Return the error for a validation failure of msgspec, with field and expected type separated."""
    match = _PLACE.fullmatch(str(error))
    assert match is not None
    expected = _EXPECTED.fullmatch(match["what"])
    return InvalidBody(match["what"], field=match["field"] or "$", expected=expected["expected"] if expected else None)


def json_field(field: str) -> bytes:
    """Return a form field that contains JSON; empty if it is missing.

    Raises
    ------
    TooLarge
        If it has too many values.
    msgspec.MsgspecError, RecursionError
        If it is long and not a JSON object.
    """
    text = request.form.get(field, "").encode()
    check_values(text)
    return text
