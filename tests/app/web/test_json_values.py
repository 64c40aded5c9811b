"""JSON of many values is refused before it is decoded, and a script may contain what it likes."""

from __future__ import annotations

import msgspec
import pytest
from flask.testing import FlaskClient

from app.errors import TooLarge
from app.web.requests import MAX_VALUES, check_values

COMMAS = "[" + "1, " * (3 * MAX_VALUES) + "]"
NAMES = {str(number): "" for number in range(MAX_VALUES + 10)}


@pytest.mark.parametrize(
    "value",
    [
        {"script": COMMAS},
        {"script": COMMAS, "files": {"a, b": "AAAA"}},
        {"workspace": {"script": COMMAS}, "view": {"unit": 1}},
        [1] * MAX_VALUES,
    ],
)
def test_what_people_send_passes(value: object) -> None:
    check_values(msgspec.json.encode(value))


@pytest.mark.parametrize(
    "text",
    [
        msgspec.json.encode({"script": COMMAS, "files": NAMES}),
        msgspec.json.encode({"workspace": {"script": COMMAS, "uploads": NAMES}}),
        msgspec.json.encode({"workspace": {"script": ""}, "view": NAMES}),
        msgspec.json.encode({"options": {"script": COMMAS}}),
        b'{"script":' + msgspec.json.encode(COMMAS) + b',"script":""}',
    ],
    ids=["files", "uploads of a link", "view of a link", "a script elsewhere", "a script that is replaced"],
)
def test_many_values_are_refused(text: bytes) -> None:
    with pytest.raises(TooLarge, match="values"):
        check_values(text)


def test_what_is_no_object_is_not_decoded() -> None:
    with pytest.raises(msgspec.ValidationError):
        check_values(b"[" + b"1," * MAX_VALUES + b"1,1]")


def test_bodies_and_forms_of_many_values_get_an_answer(client: FlaskClient) -> None:
    """The fixture's bodies may have 100 kB, so each value takes two bytes."""
    many = b"[" + b"1," * (MAX_VALUES + 1) + b"1]"
    body = client.post("/api/compile", data=b'{"files":' + many + b"}", content_type="application/json")
    assert (body.status_code, body.get_json()["error"]["code"]) == (413, "too_large")
    assert client.post("/panes", data={"script": "", "options": b'{"a":' + many + b"}"}).status_code == 413
    assert client.post("/chart", data={"asked": b'{"measurements":' + many + b"}"}).status_code == 413
    assert client.post("/panes", data={"script": "", "view": b'{"a":' + many + b"}"}).status_code == 200


def test_nesting_without_end_is_no_fault_of_the_server(client: FlaskClient) -> None:
    for field, path in (("options", "/panes"), ("uploads", "/panes"), ("asked", "/chart")):
        assert client.post(path, data={"script": "", field: "[" * 20_000}).status_code == 422
