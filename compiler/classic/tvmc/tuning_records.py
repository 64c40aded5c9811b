"""The tuning records that ``tvmc.compile`` applies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from compiler.classic import auto_scheduler
from compiler.classic.autotvm.task import ApplyHistoryBest
from compiler.classic.tvmc.errors import TVMCException
from compiler.ir.instrument import instrumented
from compiler.runtime.log_lines import whole_lines
from compiler.search import Database
from compiler.search.models import AppliedLog
from compiler.target.target import Target, TargetLike


@contextmanager
def apply_tuning_records(records: str | os.PathLike[str] | None, target: TargetLike) -> Iterator[None]:
    """Apply the best schedules of a file of tuning records, if there is one, to models compiled within the context."""
    if records is None:
        yield
        return
    try:
        with open(records, encoding="utf-8") as file:
            lines = [json.loads(line) for line in whole_lines(file)]
    except (OSError, ValueError) as error:
        raise TVMCException(f"tvmc.compile: tuning_records: {records!r} is not a file of records: {error}") from None
    with Target(target), _history(records, lines[0] if lines else {}):
        yield


def _history(records: str | os.PathLike[str], first: dict[str, object]) -> AbstractContextManager[object]:
    """Return what applies records of the kind that the first one is."""
    if "workload" in first:
        return instrumented(AppliedLog(Database(records)))
    return ApplyHistoryBest(records) if "config" in first else auto_scheduler.ApplyHistoryBest(records)
