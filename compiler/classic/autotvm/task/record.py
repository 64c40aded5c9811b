"""Tuning records: one JSON line each, in TVM's format."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Iterable, Iterator
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from compiler.classic.autotvm.measure import MeasureInput, MeasureResult, Record
from compiler.classic.autotvm.task.space import ConfigEntity
from compiler.classic.autotvm.task.task import Task
from compiler.classic.autotvm.task.workload import Workload
from compiler.ir.error import ArgumentError
from compiler.ir.extension import public_module
from compiler.runtime.log_lines import whole_lines
from compiler.search.fastest import keep_fastest
from compiler.target.target import Target

__all__ = [
    "AUTOTVM_LOG_VERSION", "decode", "encode", "load_from_buffer", "load_from_file", "measure_str_key", "pick_best",
    "split_workload",
]  # fmt: skip

AUTOTVM_LOG_VERSION = 0.2


def measure_str_key(inp: MeasureInput, include_config: bool = True) -> str:
    """Return a text that is the same for equal inputs."""
    config = str(inp.config) if include_config else ""
    return f"{inp.target}{inp.task.name}{inp.task.args}{inp.task.kwargs}{config}"


def encode(inp: MeasureInput, result: MeasureResult, protocol: str = "json") -> str:
    """Return a record as a line of ``json``, or as ``pickle``: the same text in a pickle, as base64."""
    _require_known(protocol)
    costs = [cost if not isinstance(cost, Exception) else str(cost) for cost in result.costs]
    row = {
        "input": [str(inp.target), inp.task.name, inp.task.args, inp.task.kwargs],
        "config": inp.config.to_json_dict(),
        "result": [costs if not result.error_no else [1e9], result.error_no, result.all_cost, result.timestamp],
        "version": AUTOTVM_LOG_VERSION,
        "tvm_version": "0.19.0",
    }
    text = json.dumps(row)
    return text if protocol == "json" else base64.b64encode(pickle.dumps(text)).decode()


def decode(row: str, protocol: str = "json") -> tuple[MeasureInput, MeasureResult] | None:
    """Return the record of a line, or None of an older format; the protocol is ``json`` or ``pickle``.

    Raises ArgumentError if it is no record; a pickle of another program is refused, too, and not executed.
    """
    _require_known(protocol)
    text = row if protocol == "json" else _TextUnpickler(BytesIO(base64.b64decode(row))).load()
    try:
        read = json.loads(text)
        if "v" in read or read.get("version", 0) < AUTOTVM_LOG_VERSION:
            return None
        target, name, args, _ = read["input"]
        task = Task(name, _tuples(args))
        task.target = Target(target)
        costs, error_no, all_cost, timestamp = read["result"]
        inp = MeasureInput(task.target, task, ConfigEntity.from_json_dict(read["config"]))
        return inp, MeasureResult(tuple(map(float, costs)), error_no or int(not costs), all_cost, timestamp)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ArgumentError(f"autotvm: this line is not a record: {text[:80]!r}") from None


def _require_known(protocol: str) -> None:
    if protocol not in ("json", "pickle"):
        raise ArgumentError(f"autotvm.record: protocol must be 'json' or 'pickle', got {protocol!r}")


class _TextUnpickler(pickle.Unpickler):
    """Reads a pickle of plain values: names of classes and functions, which would be called, are refused."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise ArgumentError(f"autotvm.record: {module}.{name} may not be unpickled; store records as JSON")


def _tuples(value: object) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def load_from_buffer(file: TextIO) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """Return the records of an open file."""
    for row in whole_lines(file):
        record = decode(row) if not row.startswith("#") else None
        if record is not None:
            yield record


def load_from_file(filepath: str | PathLike[str]) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """Return the records of a file."""
    with Path(filepath).open(encoding="utf-8", errors="replace") as file:
        yield from load_from_buffer(file)


def pick_best(in_file: str | PathLike[str] | Iterable[Record], out_file: str | PathLike[str] | TextIO) -> None:
    """Write the best of some records, or of a file of them, of each workload and target."""
    best: dict[tuple[str, Workload], Record] = {}
    records = load_from_file(in_file) if isinstance(in_file, (str, PathLike)) else in_file
    for record in records:
        keep_fastest(best, (str(record[0].target), record[0].task.workload), record)
    lines = "".join(encode(*record) + "\n" for record in best.values())
    if isinstance(out_file, (str, PathLike)):
        Path(out_file).write_text(lines, encoding="utf-8")
    else:
        out_file.write(lines)


def split_workload(in_file: str | PathLike[str], clean: bool = True) -> None:
    """Write the records of each workload into a file of its own: ``FILE.000.wkl``, ``FILE.001.wkl`` …

    What was measured twice is written once, as it was measured last, if they are to be ``clean``.
    """
    rows: dict[Workload, list[Record]] = {}
    for record in load_from_file(in_file):
        rows.setdefault(record[0].task.workload, []).append(record)
    for at, records in enumerate(rows.values()):
        kept = list({measure_str_key(record[0]): record for record in records}.values()) if clean else records
        Path(f"{in_file}.{at:03d}.wkl").write_text("".join(encode(*record) + "\n" for record in kept), encoding="utf-8")


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.autotvm.record", __all__)
