"""Logging, with records that untrusted text cannot forge or split."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from contextvars import ContextVar

CONTINUED = "    | "
"""Begins the further lines of a record, such as those of a traceback."""
MAX_RECORD = 20_000
"""Characters of a record."""
MAX_QUOTED = 300
"""Characters that a client or a script wrote, in a record."""


request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Id of the request that the current thread works for, which records name and users are told; empty for none."""


def reference() -> str:
    """Return what is said after "it has been logged", so that the record is found: `` as 3f2a…``, or nothing."""
    current = request_id.get()
    return f" as {current}" if current else ""


def quoted(text: str, characters: int = MAX_QUOTED) -> str:
    """Return an untrusted text as a Python literal in ASCII, shortened in its middle.

    Parameters
    ----------
    characters : int
        Of the text that are quoted at most.
    """
    if len(text) <= characters:
        return ascii(text)
    half = characters // 2
    return f"{text[:half]!a} … {text[-half:]!a} ({len(text):,} characters)"


class LineFormatter(logging.Formatter):
    """Formats records so that whatever is in them can neither look like another record nor steer a terminal."""

    def __init__(self) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return a record, its further lines marked and all that cannot be printed escaped."""
        text = _bounded(super().format(record))
        request = _request_of(record)
        first, *others = [_printable(line) for line in text.split("\n")]
        return f"\n{CONTINUED}".join([f"{first} [request {request}]" if request else first, *others])


class JsonFormatter(logging.Formatter):
    """Formats each record as one line of JSON in ASCII, in which untrusted text cannot end a string or a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record with its time, level, logger, message, request and traceback."""
        seconds, milliseconds = divmod(int(record.created * 1000), 1000)
        out = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{milliseconds:03}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": _bounded(record.getMessage()),
        }
        if request := _request_of(record):
            out["request"] = request
        if record.exc_info:
            out["traceback"] = _bounded(self.formatException(record.exc_info))
        return json.dumps(out)


def _request_of(record: logging.LogRecord) -> str:
    """Return the id of the request that a record is about: named by the record itself, or that of its thread."""
    return str(getattr(record, "request", "") or request_id.get())


def _bounded(text: str) -> str:
    return text if len(text) <= MAX_RECORD else f"{text[: MAX_RECORD // 2]} … {text[-MAX_RECORD // 2 :]}"


def _printable(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)


FORMAT = "STRATA_LOG"
"""The variable that names the format; :mod:`app.config` accepts only names that there are."""
FORMATS: dict[str, type[logging.Formatter]] = {"text": LineFormatter, "json": JsonFormatter}


def inherited() -> dict[str, str]:
    """Return the part of the environment that other processes of this server need to log as it does."""
    return {FORMAT: os.environ[FORMAT]} if FORMAT in os.environ else {}


def configure() -> None:
    """Write what this process logs to its standard error, in the format that ``STRATA_LOG`` names."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FORMATS[os.environ.get(FORMAT, "text")]())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
