"""Tuning records: one JSON line each, with the chosen parameters and the primitives they stand for.

Lines of classic TVM, whose tasks are described further and whose schedules are steps, are read and written as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compiler.classic.auto_scheduler.measure import MeasureInput, MeasureResult
from compiler.classic.auto_scheduler.sketch import State
from compiler.classic.auto_scheduler.transform_steps import StepState
from compiler.ir.error import ArgumentError
from compiler.runtime.log_lines import append_lines, whole_lines
from compiler.search.fastest import keep_fastest, mean_cost
from compiler.target.target import Target, TargetLike

if TYPE_CHECKING:
    from compiler.classic.auto_scheduler.search_task import SearchTask

__all__ = [
    "AUTO_SCHEDULER_LOG_VERSION", "RecordReader", "RecordToFile", "distill_record_file", "dump_record_to_string",
    "load_best_record", "load_record_from_string", "load_records", "save_records",
]  # fmt: skip

AUTO_SCHEDULER_LOG_VERSION = "v0.6"

Record = tuple[MeasureInput, MeasureResult]


class StoredTask:
    """The task of a record: what tells it from others.

    ``described`` is what classic TVM records of the task besides: the hardware, the host, layouts and inputs.
    """

    def __init__(self, workload_key: str, target: Target, described: Sequence[object] = ()) -> None:
        self.workload_key = workload_key
        self.target = target
        self.described = described


def encode(inp: MeasureInput, result: MeasureResult) -> str:
    """Return a record as a line."""
    task: SearchTask | StoredTask = inp.task
    described = task.described if isinstance(task, StoredTask) else ()
    lines: list[str] = []
    if isinstance(inp.state, StepState):
        chosen: Sequence[object] = inp.state.steps
    else:
        chosen = inp.state.decisions
        if not result.error_no and not isinstance(task, StoredTask):  # a key alone has no definitions to schedule
            lines = task.compute_dag.print_python_code_from_state(inp.state).splitlines()
    return json.dumps(
        {
            "i": [[task.workload_key, str(task.target), *described], [lines, chosen]],
            "r": [list(result.costs), result.error_no, result.all_cost, result.timestamp],
            "v": AUTO_SCHEDULER_LOG_VERSION,
        }
    )


def decode(line: str) -> Record:
    """Return the record of a line."""
    try:
        fields = json.loads(line)
        (key, target, *described), (_, chosen) = fields["i"]
        costs, error, seconds, timestamp = fields["r"]
        state = _state(chosen, of_steps=bool(described))
    except (ValueError, KeyError, TypeError):
        raise ArgumentError(f"auto_scheduler: this line is not a record: {line[:80]!r}") from None
    task: Any = StoredTask(key, Target(target), described)
    return MeasureInput(task, state), MeasureResult(tuple(costs), error, "", seconds, timestamp)


def _state(chosen: Sequence[Any], of_steps: bool) -> State | StepState:
    """Return what was chosen: the numbers of a sketch, or the steps that classic TVM records."""
    if not of_steps and not any(step and isinstance(step[0], str) for step in chosen):
        return State(tuple(tuple(int(n) for n in numbers) for numbers in chosen))
    if not all(isinstance(step, list) and step and isinstance(step[0], str) for step in chosen):
        raise ValueError("a step is a list that begins with its name")
    return StepState(tuple(tuple(tuple(part) if isinstance(part, list) else part for part in step) for step in chosen))


class RecordToFile:
    """A callback that appends records to a file."""

    def __init__(self, filename: str | PathLike[str] = "auto_scheduler_tuning.json") -> None:
        self.filename = Path(filename)

    def callback(self, policy: object, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Write records."""
        save_records(self.filename, inputs, results)


class RecordReader:
    """Reads a file of records."""

    def __init__(self, filename: str | PathLike[str]) -> None:
        self.filename = Path(filename)

    def read_lines(self, max_lines: int = -1, skip_lines: int = 0) -> tuple[list[MeasureInput], list[MeasureResult]]:
        """Return records in the order of the file, at most ``max_lines`` of them unless it is negative."""
        records = list(self)[skip_lines:]
        records = records[:max_lines] if max_lines >= 0 else records
        return [inp for inp, _ in records], [res for _, res in records]

    def __iter__(self) -> Iterator[Record]:
        with self.filename.open(encoding="utf-8", errors="replace") as file:
            yield from map(decode, whole_lines(file))


def load_records(filename: str | PathLike[str]) -> Iterator[Record]:
    """Return the records of a file."""
    return iter(RecordReader(filename))


def save_records(
    filename: str | PathLike[str], inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]
) -> None:
    """Append records to a file."""
    append_lines(filename, (encode(*record) for record in zip(inputs, results, strict=True)))


def dump_record_to_string(inp: MeasureInput, res: MeasureResult) -> str:
    """Return a record as a line of a file."""
    return encode(inp, res) + "\n"


def load_record_from_string(record: str) -> Record:
    """Return the record of a line of a file."""
    return decode(record)


def distill_record_file(in_file: str | PathLike[str], out_file: str | PathLike[str]) -> None:
    """Write the fastest record of each workload and target to a file."""
    best: dict[tuple[str, str], tuple[str, MeasureResult]] = {}
    for line in whole_lines(Path(in_file).read_text(encoding="utf-8").splitlines(keepends=True)):
        inp, res = decode(line)
        keep_fastest(best, (inp.task.workload_key, str(inp.task.target)), (line, res))
    Path(out_file).write_text("".join(line for line, _ in best.values()), encoding="utf-8")


def load_best_record(
    filename: str | PathLike[str],
    workload_key: str | None = None,
    target: TargetLike | None = None,
    include_compatible: bool = False,
) -> tuple[MeasureInput | None, MeasureResult | None]:
    """Return the fastest record of a file, of one workload and target or of any; None twice if there is none."""
    chosen = None if target is None else Target(target)
    fitting = [
        (inp, res)
        for inp, res in load_records(filename)
        if not res.error_no
        and workload_key in (None, inp.task.workload_key)
        and (chosen is None or is_for(inp.task.target, chosen))
    ]
    return min(fitting, key=lambda record: mean_cost(record[1]), default=(None, None))


def is_for(measured: Target, target: Target) -> bool:
    """Return whether a record is for a target; classic TVM writes the triple of the host, which programs leave out."""
    one, other = ({**t.attrs} for t in (measured, target))
    if "mtriple" not in one or "mtriple" not in other:
        one.pop("mtriple", None)
        other.pop("mtriple", None)
    return (measured.kind, one) == (target.kind, other)
