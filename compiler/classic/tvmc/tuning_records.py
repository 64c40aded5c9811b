"""The tuning records that ``tvmc.compile`` applies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from compiler.classic import auto_scheduler
from compiler.classic.autotvm.task import ApplyHistoryBest
from compiler.classic.tvmc.errors import TVMCException
from compiler.target.target import Target, TargetLike


@contextmanager
def apply_tuning_records(records: str | os.PathLike[str] | None, target: TargetLike) -> Iterator[None]:
    """Apply the best schedules of a file of tuning records, if there is one, to models compiled within the context."""
    if records is None:
        yield
        return
    try:
        with open(records, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.strip()]
    except (OSError, ValueError) as error:
        raise TVMCException(f"tvmc.compile: tuning_records: {records!r} is not a file of records: {error}") from None
    history = ApplyHistoryBest(records) if _are_autotvm_records(lines) else auto_scheduler.ApplyHistoryBest(records)
    with Target(target), history:
        yield


def _are_autotvm_records(lines: Sequence[dict[str, object]]) -> bool:
    return bool(lines) and "config" in lines[0]
