"""The log: untrusted text stays inside of its record."""

from __future__ import annotations

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.logs import CONTINUED, MAX_RECORD, JsonFormatter, LineFormatter, quoted, request_id

FORGED = [
    "x\nINFO app.server: FORGED",
    "x\r\nINFO app.server: FORGED",
    "x\x0bINFO app.server: FORGED",
    "x\x85INFO app.server: FORGED",
    "x\u2028INFO app.server: FORGED",
    "\x1b[2K\x1b[1GINFO app.server: FORGED",
    "\x9b2KINFO app.server: FORGED",
    "\ud800\x00\x08\x7f",
]


def record_of(message: str, *args: object, error: BaseException | None = None) -> str:
    exc_info = (type(error), error, None) if error is not None else None
    return LineFormatter().format(logging.LogRecord("app.test", logging.ERROR, "", 0, message, args, exc_info))


@pytest.mark.parametrize("text", FORGED)
def test_a_forged_line_is_no_line_of_the_log(text: str) -> None:
    for written in (record_of("%s", text), record_of("failed", error=ValueError(text)), record_of(text)):
        first, *others = written.splitlines()
        assert first.startswith("ERROR app.test: ")
        assert all(line.startswith(CONTINUED) for line in others)
        assert all(line.isprintable() for line in written.splitlines())


@given(st.text(), st.integers(2, 50))
def test_what_is_quoted_is_one_short_line_of_ascii(text: str, characters: int) -> None:
    written = quoted(text, characters)
    assert written.isascii() == (len(text) <= characters)
    assert written.isprintable()
    assert len(written) <= 10 * characters + 30  # an escape takes ten characters at most


def test_a_record_is_bounded() -> None:
    assert len(record_of("%s", "x" * 10**6)) < MAX_RECORD + 100
    assert record_of("%s", "begins" + "x" * 10**6 + "ends").endswith("ends")


@pytest.mark.parametrize("text", [*FORGED, '"}\n{"level": "INFO"'])
def test_a_record_in_json_is_one_object_on_one_line(text: str) -> None:
    error = ValueError(text)
    record = logging.LogRecord("app.test", logging.ERROR, "", 0, "%s", (text,), (ValueError, error, None))
    token = request_id.set("3f2a")
    try:
        written = JsonFormatter().format(record)
        assert LineFormatter().format(record).splitlines()[0].endswith(" [request 3f2a]")
    finally:
        request_id.reset(token)
    assert written.isascii()
    assert written.isprintable()
    told = json.loads(written)
    assert (told["level"], told["logger"], told["message"], told["request"]) == ("ERROR", "app.test", text, "3f2a")
    assert text in told["traceback"]
    assert told["time"].endswith("Z")
