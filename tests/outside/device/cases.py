"""The cases of a step: each is recorded when it begins and when it ends, so that the next process goes on behind it."""

from __future__ import annotations

import contextlib
import json
import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from compiler.ir.error import LoweringError, TVMError

Record = dict[str, Any]
Case = tuple[str, Callable[[], Record]]
"""A name, and what runs the case and returns its facts; it raises where a result is wrong."""

SHARDS = 4
"""Processes that go through random programs, and through tests."""
_LOST = ("illegal", "launch failed", "misaligned", "unspecified", "invalid device context", "timed out")
"""Beginnings of the driver's errors behind which a process can no longer use the device."""


class Wrong(AssertionError):
    """A kernel computes something else than its reference."""


def read(path: Path) -> list[Record]:
    """Return what is recorded, without lines that a kill cut off."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else ():
        with contextlib.suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found


def finished(records: Iterable[Record]) -> list[Record]:
    """Return the last record of each case; one that only began has ended its process."""
    return list({record["name"]: record for record in records}.values())


def run_cases(cases: Iterator[Case], path: Path) -> None:
    """Run the cases that are not recorded yet."""
    known = {record["name"] for record in finished(read(path))}
    with path.open("a") as out:

        def note(record: Record) -> None:
            out.write(json.dumps(record) + "\n")
            out.flush()

        if known:
            out.write("\n")  # behind a line that was cut off
        for name, case in cases:
            if name in known:
                continue
            note({"name": name, "status": "ended the process"})
            try:
                note({"name": name, "status": "ok", **case()})
            except Exception as error:
                note({"name": name, "status": _status(error), "why": _told(error)})
                if isinstance(error, TVMError) and any(text in str(error) for text in _LOST):
                    os._exit(3)


def _status(error: Exception) -> str:
    if isinstance(error, LoweringError):
        return "refused"
    return "wrong" if isinstance(error, AssertionError) else "failed"


def _told(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error).strip()[:700]} ({Path(place.filename).name}:{place.lineno})"
