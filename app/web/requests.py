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
        Name that the page gave itself; empty for clients that never replace their requests.
    """
    return Client(network_of(request.remote_addr or ""), tab)


def read_body(kind: type[Body]) -> Body:
    """Return the JSON body of the present request.

    Raises
    ------
    WrongMediaType
        The body is not declared as JSON.
    MalformedBody
        The body is not JSON.
    InvalidBody
        A value in it is not what is expected there.
    TooLarge
        It holds too many values.
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
    """Return msgspec's message, with the field and the expected type separated."""
    match = _PLACE.fullmatch(str(error))
    assert match is not None
    expected = _EXPECTED.fullmatch(match["what"])
    return InvalidBody(match["what"], field=match["field"] or "$", expected=expected["expected"] if expected else None)


def json_field(field: str) -> bytes:
    """Return a field of the request's form that holds JSON; empty if there is none.

    Raises
    ------
    TooLarge
        It holds too many values.
    msgspec.MsgspecError, RecursionError
        It is long, and not the JSON of an object.
    """
    text = request.form.get(field, "").encode()
    check_values(text)
    return text
