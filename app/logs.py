"""Logging, with records that untrusted text cannot forge or split."""

from __future__ import annotations

import logging
import sys

CONTINUED = "    | "
"""Begins the further lines of a record, such as those of a traceback."""
MAX_RECORD = 20_000
"""Characters of a record."""
MAX_QUOTED = 300
"""Characters that a client or a script wrote, in a record."""


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
        text = super().format(record)
        if len(text) > MAX_RECORD:
            text = f"{text[: MAX_RECORD // 2]} … {text[-MAX_RECORD // 2 :]}"
        return f"\n{CONTINUED}".join(_printable(line) for line in text.split("\n"))


def _printable(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)


def configure() -> None:
    """Write what this process logs to its standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
