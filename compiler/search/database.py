"""The log of a search: a line of JSON for each measured candidate, only ever appended to.

A record says which workload and target, what was chosen (null: the default), what became of it, and the features of its
program, so that another search learns from it without deriving it again.  Of the same workload only the best is
measured again; those of like ones, with the same structure and other extents, are where a search begins.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.runtime.log_lines import append_lines, whole_lines
from compiler.search.choices import Choices, from_json

_VERSION = 4
"""Features of earlier versions are others."""


@dataclass(frozen=True)
class Record:
    """A measured candidate."""

    workload: str
    """What is computed, for which target and how many threads."""
    structure: str
    """What workloads of like shapes have in common."""
    choices: Choices | None
    """None for the default."""
    kind: str
    """As of :class:`~compiler.search.measurer.Measurement`."""
    seconds: float
    """Of a call; infinite unless ``kind`` is ``ok``."""
    message: str = ""
    features: Sequence[float] = ()
    timestamp: float = field(default_factory=time.time)
    error: float | None = None
    """The standard error of the time, as a share of it."""
    predicted: float | None = None
    """The seconds that the cost model expected, before it was measured."""
    is_decision: bool = False
    """Whether it says what the workload is to be built with, at the end of a search over a model."""

    def line(self) -> str:
        """Return the record as a line of JSON."""
        seconds = self.seconds if math.isfinite(self.seconds) else None
        fields = {"v": _VERSION, **vars(self), "seconds": seconds, "features": [round(f, 4) for f in self.features]}
        return json.dumps(fields)


def _record(line: str) -> Record:
    try:
        fields: dict[str, Any] = json.loads(line)
        if (version := fields.pop("v")) > _VERSION:
            raise ArgumentError("search: the log was written by a later version")
        seconds, choices, features = (fields.pop(name) for name in ("seconds", "choices", "features"))
        seconds = math.inf if seconds is None else float(seconds)
        made = None if choices is None else from_json(choices)
        if not seconds >= 0 or not all(isinstance(fields[name], str) for name in ("workload", "structure", "kind")):
            raise ValueError(fields)
        row = tuple(map(float, features)) if version == _VERSION else ()
        return Record(**fields, seconds=seconds, choices=made, features=row)
    except ArgumentError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ArgumentError(f"search: this line is not a record: {line[:80]!r}") from None


class Database:
    """The records of a file, or of this process only, of which ``text`` has some already.

    Raises ArgumentError if the file has lines that are no records; one that was cut off is left out with a warning.
    """

    def __init__(self, path: str | PathLike[str] | None = None, text: str = "") -> None:
        self._path = None if path is None else Path(path)
        if self._path is not None and self._path.exists():
            text = self._path.read_text(encoding="utf-8", errors="replace")
        self._records = [_record(line) for line in whole_lines(text.splitlines())]

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def add(self, records: Sequence[Record]) -> None:
        """Append records, also to the file."""
        self._records += records
        if self._path is not None:
            append_lines(self._path, [record.line() for record in records])

    def of(self, workload: str) -> list[Record]:
        """Return the records of a workload."""
        return [record for record in self._records if record.workload == workload]

    def decision(self, workload: str) -> Record | None:
        """Return what was last decided of a workload; None if no search of it has ended."""
        return next((r for r in reversed(self._records) if r.is_decision and r.workload == workload), None)

    def like(self, workload: str, structure: str, most: int) -> list[Choices]:
        """Return what was best for other workloads of the same structure, the two best of each."""
        by_workload: dict[str, list[Record]] = {}
        for record in self._records:
            if record.structure == structure and record.workload != workload and record.choices is not None:
                by_workload.setdefault(record.workload, []).append(record)
        best = [sorted(records, key=lambda r: r.seconds)[:2] for records in by_workload.values()]
        found = [record.choices for records in best for record in records if record.kind == "ok" and record.choices]
        return found[-most:]
