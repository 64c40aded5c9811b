"""Request parsing: the client, and the JSON body with precise errors."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec
from flask import request

from app.errors import InvalidBody, MalformedBody, WrongMediaType
from app.jobs.clients import Client, network_of
from app.web.json_values import check_values

Body = TypeVar("Body")
_PLACE = re.compile(r"(?P<what>.*?)(?: - at (?:`key` in )?`(?P<field>[^`]*)`)?", re.DOTALL)
_EXPECTED = re.compile(r"Expected (?P<expected>.*?)(?:, got .*)?", re.DOTALL)


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
