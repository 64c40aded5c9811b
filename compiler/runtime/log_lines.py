"""Logs of records, a line of JSON each, that are only appended to and may have been cut off anywhere."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from os import SEEK_END, PathLike
from pathlib import Path

from compiler.ir.error import ArgumentError


def whole_lines(rows: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a log that are not empty; those cut off when their writer was killed only cause a warning."""
    for number, row in enumerate(rows, 1):
        if row.startswith(("{", "[")) and not _is_whole(row):
            warnings.warn(f"line {number} of a log was cut off, its record is left out: {row[:80]!r}", stacklevel=2)
        elif row.strip():
            yield row


def _is_whole(row: str) -> bool:
    try:
        json.loads(row)
    except ValueError:
        return False
    return True


def append_lines(path: str | PathLike[str], lines: Iterable[str]) -> None:
    """Append lines to a log, the first to a line of its own though the last one was cut off.

    Raises ArgumentError if the file cannot be written.
    """
    written = "".join(f"{line}\n" for line in lines).encode()
    try:
        with Path(path).open("a+b") as file:
            if file.tell():
                file.seek(-1, SEEK_END)
                file.write(b"" if file.read() == b"\n" else b"\n")
            file.write(written)
    except OSError as failed:
        raise ArgumentError(f"the log {str(path)!r} cannot be written: {failed.strerror}") from None
