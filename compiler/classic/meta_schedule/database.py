"""Databases of tuning records: ``tvm.meta_schedule.database``."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from compiler.classic.auto_scheduler.record import is_for
from compiler.classic.meta_schedule.cost_model import MeasureCandidate
from compiler.classic.meta_schedule.part import created
from compiler.classic.meta_schedule.runner import TensorInfo, args_info
from compiler.driver.relay.lower import KernelDefinition
from compiler.ir.base import load_json, save_json
from compiler.ir.error import ArgumentError, TVMError, expected
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.module import IRModule
from compiler.ir.passes.context import PassContext
from compiler.ir.structural import structural_equal, structural_hash
from compiler.runtime.log_lines import append_lines, whole_lines
from compiler.target.target import Target, TargetLike
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.schedule.trace import Trace
from compiler.tir.statements.function import PrimFunc

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from compiler.relay.function import Function

Program = IRModule | PrimFunc
Row = TypeVar("Row")
_CURRENT: list[tuple[Database, AbstractContextManager[object]]] = []


def is_meta_schedule_enabled() -> bool:
    """Return whether the current pass context asks for schedules that were searched."""
    return bool(PassContext.current().config.get("relay.backend.use_meta_schedule", False))


class Workload:
    """A program that is tuned."""

    def __init__(self, mod: Program) -> None:
        self.mod = mod if isinstance(mod, IRModule) else IRModule({"main": mod})

    def as_json(self) -> list[str]:
        """Return the program's hash and its serialised form, as TVM lays it out: behind its length, as base64."""
        text = save_json(self.mod).encode()
        return [str(structural_hash(self.mod)), base64.b64encode(len(text).to_bytes(8, "little") + text).decode()]

    @staticmethod
    def from_json(json_obj: Sequence[str]) -> Workload:
        """Return a program as :meth:`as_json` gave it, here or in TVM."""
        stored = base64.b64decode(json_obj[1])
        return Workload(load_json(stored[stored.index(b"{") :].decode()))


class TuningRecord:
    """A schedule of a program as the steps that make it, with how long it takes.

    Parameters
    ----------
    run_secs : list of float, optional
        Seconds of each measurement.
    """

    def __init__(
        self,
        trace: Trace,
        workload: Workload,
        run_secs: Sequence[float] | None = None,
        target: TargetLike | None = None,
        args_info: Sequence[TensorInfo] | None = None,
    ) -> None:
        self.trace = trace
        self.workload = workload
        self.run_secs = None if run_secs is None else list(run_secs)
        self.target = None if target is None else Target(target)
        self.args_info = args_info

    @property
    def seconds(self) -> float:
        """The mean of the measurements; infinite without any."""
        return sum(self.run_secs) / len(self.run_secs) if self.run_secs else math.inf

    def schedule(self) -> Schedule:
        """Return the schedule."""
        sch = Schedule(self.workload.mod)
        self.trace.apply_to_schedule(sch, remove_postproc=False)
        return sch

    def as_measure_candidate(self) -> MeasureCandidate:
        """Return the schedule as a search has it."""
        return MeasureCandidate(self.schedule(), self.args_info or args_info(self.workload.mod))

    def as_json(self) -> list[Any]:
        """Return the record without its program."""
        told = None if self.args_info is None else [["TENSOR", dtype, list(shape)] for dtype, shape in self.args_info]
        return [self.trace.as_json(), self.run_secs, None if self.target is None else self.target.export(), told]

    @staticmethod
    def from_json(json_obj: Sequence[Any], workload: Workload) -> TuningRecord:
        """Return a record as :meth:`as_json` gave it, here or in TVM."""
        steps, run_secs, target, told = json_obj
        info = None if told is None else [TensorInfo(dtype, shape) for _, dtype, shape in told]
        return TuningRecord(Trace.from_json(steps), workload, run_secs, target, info)


class Database:
    """Programs and the records of their tuning; in a ``with`` statement, the current one.

    Models that are built with ``relay.backend.use_meta_schedule`` there have its fastest kernels.  A program's own
    database derives from this class, or from its older name ``PyDatabase``, and defines the methods that it changes.
    """

    def __init__(self, module_equality: str = "structural") -> None:
        if module_equality != "structural":
            raise ArgumentError(f"Database: module_equality must be 'structural', got {module_equality!r}")
        self._workloads: list[Workload] = []
        self._records: list[TuningRecord] = []

    def has_workload(self, mod: Program) -> bool:
        """Return whether a program was committed."""
        return self._found(mod) is not None

    def commit_workload(self, mod: Program) -> Workload:
        """Add a program, unless it is there, and return it."""
        workload = self._found(mod)
        if workload is None:
            workload = Workload(mod)
            self._workloads.append(workload)
        return workload

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Add a record."""
        self._records.append(record)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """Return the fastest records of a program."""
        own = [record for record in self._records if record.workload is workload]
        return sorted(own, key=lambda record: record.seconds)[:top_k]

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """Return all records."""
        return list(self._records)

    def query_tuning_record(self, mod: Program, target: TargetLike, workload_name: str = "main") -> TuningRecord | None:
        """Return the fastest record of a program for a target, None if there is none."""
        workload, wanted = self._found(mod), Target(target)
        records = [] if workload is None else self.get_top_k(workload, len(self._records))
        return next((record for record in records if record.target is None or is_for(record.target, wanted)), None)

    def query_schedule(self, mod: Program, target: TargetLike, workload_name: str = "main") -> Schedule | None:
        """Return the fastest schedule of a program for a target, None if there is none."""
        record = self.query_tuning_record(mod, target)
        return None if record is None else record.schedule()

    def query_ir_module(self, mod: Program, target: TargetLike, workload_name: str = "main") -> IRModule | None:
        """Return a program with its fastest schedule for a target, None if there is none."""
        schedule = self.query_schedule(mod, target)
        return None if schedule is None else schedule.mod

    def query(
        self, mod: Program, target: TargetLike, *, workload_name: str = "main", kind: str = "schedule"
    ) -> Schedule | TuningRecord | IRModule | None:
        """Return the best that is known of a program, as a ``schedule``, a ``record`` or an ``ir_module``."""
        asked: dict[str, Callable[..., Schedule | TuningRecord | IRModule | None]] = {
            "schedule": self.query_schedule, "record": self.query_tuning_record, "ir_module": self.query_ir_module,
        }  # fmt: skip
        return created("Database.query", asked, kind, mod, target, workload_name)

    def dump_pruned(self, destination: Database) -> None:
        """Add the fastest record of each program, of all targets, to another database."""
        if not isinstance(destination, Database):
            expected("Database.dump_pruned", "destination", "a Database", destination)
        best: dict[Workload, TuningRecord] = {}
        for record in sorted(self.get_all_tuning_records(), key=lambda each: each.seconds):
            if math.isfinite(record.seconds) and record.workload not in best:
                best[record.workload] = record
        for record in best.values():
            workload = destination.commit_workload(record.workload.mod)
            made = TuningRecord(record.trace, workload, record.run_secs, record.target, record.args_info)
            destination.commit_tuning_record(made)

    def __len__(self) -> int:
        return len(self._records)

    @staticmethod
    def current() -> Database | None:
        """Return the database of the innermost ``with`` statement, None outside of any."""
        return _CURRENT[-1][0] if _CURRENT else None

    def __enter__(self) -> Database:
        applied = instrumented(AppliedDatabase(self))
        applied.__enter__()
        _CURRENT.append((self, applied))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CURRENT.pop()[1].__exit__(kind, error, trace)

    def _found(self, mod: Program) -> Workload | None:
        wanted = Workload(mod).mod
        return next((workload for workload in self._workloads if structural_equal(workload.mod, wanted)), None)


PyDatabase = Database


class AppliedDatabase(Instrument):
    """Lets the kernels of models be the fastest of a database, where the pass context asks for it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._target = Target("llvm")

    def graph_build_begin(self, module: IRModule, target: Target) -> None:
        self._target = target

    def kernel_defined(self, name: str, function: Function, definition: KernelDefinition) -> KernelDefinition | None:
        if not is_meta_schedule_enabled():
            return None
        try:
            func = definition.blocks()
        except TVMError:  # it cannot be said in blocks, so that nothing is known of it
            return None
        found = self._database.query_ir_module(func, self._target, name)
        return None if found is None else replace(definition, program=found["main"])


class UnionDatabase(Database):
    """Answers with the fastest that several databases have; nothing is added to it."""

    def __init__(self, *databases: Database) -> None:
        super().__init__()
        self.databases = databases

    def has_workload(self, mod: Program) -> bool:
        return any(database.has_workload(mod) for database in self.databases)

    def query_tuning_record(self, mod: Program, target: TargetLike, workload_name: str = "main") -> TuningRecord | None:
        return min(self._answers(mod, target, workload_name), key=lambda record: record.seconds, default=None)

    def _answers(self, mod: Program, target: TargetLike, workload_name: str) -> list[TuningRecord]:
        asked = [database.query_tuning_record(mod, target, workload_name) for database in self.databases]
        return [record for record in asked if record is not None]

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return [record for database in self.databases for record in database.get_all_tuning_records()]

    def __len__(self) -> int:
        return sum(map(len, self.databases))

    def commit_workload(self, mod: Program) -> Workload:
        """Refuse: it would not be clear in which database it is to be.

        Raises ArgumentError always.
        """
        raise ArgumentError(f"{type(self).__name__}: programs and records are added to one of its databases")


class OrderedUnionDatabase(UnionDatabase):
    """Answers with what the first of several databases has that knows a program; nothing is added to it."""

    def query_tuning_record(self, mod: Program, target: TargetLike, workload_name: str = "main") -> TuningRecord | None:
        """Return the record of a program for a target, None if there is none."""
        return next(iter(self._answers(mod, target, workload_name)), None)


class ScheduleFnDatabase(Database):
    """Answers with what a function does to a schedule of the program; where it returns False, with nothing."""

    def __init__(self, schedule_fn: Callable[[Schedule], bool | None]) -> None:
        super().__init__()
        self._schedule_fn = schedule_fn

    def query_tuning_record(self, mod: Program, target: TargetLike, workload_name: str = "main") -> TuningRecord | None:
        """Return the program's schedule as a record without times, None if the function has none for it."""
        workload = Workload(mod)
        sch = Schedule(workload.mod)
        if self._schedule_fn(sch) is False:
            return None
        return TuningRecord(sch.trace, workload, None, target)


class MemoryDatabase(Database):
    """A database that ends with the process."""


class JSONDatabase(Database):
    """A database in two files, of programs and of records, which are only appended to.

    Parameters
    ----------
    work_dir : str, optional
        A folder for both files, where their paths are not given.
    """

    def __init__(
        self, path_workload: str | os.PathLike[str] | None = None,
        path_tuning_record: str | os.PathLike[str] | None = None, *, work_dir: str | os.PathLike[str] | None = None,
        allow_missing: bool = True, module_equality: str = "structural",
    ) -> None:  # fmt: skip
        super().__init__(module_equality)
        folder = Path(work_dir or ".")
        self._programs = Path(path_workload or folder / "database_workload.json")
        self._file = Path(path_tuning_record or folder / "database_tuning_record.json")
        for path in (self._programs, self._file):
            if not path.exists() and not allow_missing:
                raise ArgumentError(f"JSONDatabase: there is no file {path}")
        self._workloads = _said(self._programs, Workload.from_json)
        self._places = {workload: at for at, workload in enumerate(self._workloads)}
        self._records = _said(self._file, lambda row: TuningRecord.from_json(row[1], self._workloads[row[0]]))

    def commit_workload(self, mod: Program) -> Workload:
        count, workload = len(self._workloads), super().commit_workload(mod)
        if len(self._workloads) > count:
            row = workload.as_json()
            append_lines(self._programs, [json.dumps(row)])
            self._places[workload] = _said(self._programs, list).index(row)  # another search may have added some
        return workload

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Add a record.  Raises ArgumentError if its program is another database's."""
        if record.workload not in self._places:
            raise ArgumentError("JSONDatabase.commit_tuning_record: the workload must be one that commit_workload gave")
        super().commit_tuning_record(record)
        append_lines(self._file, [json.dumps([self._places[record.workload], record.as_json()])])


def _said(path: Path, read: Callable[[Any], Row]) -> list[Row]:
    """Return what the lines of a file, once objects, are read as; raises ArgumentError if one cannot be."""
    rows: list[Row] = []
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    for line in whole_lines(text.splitlines()):
        try:
            row = json.loads(line)
            named = isinstance(row, dict)
            rows.append(read(row["workload"] if named and "record" not in row else [*row.values()] if named else row))
        except (LookupError, TypeError, ValueError, AttributeError, TVMError) as error:
            raise ArgumentError(f"JSONDatabase: {path} has a line that is no record ({error}): {line[:80]!r}") from None
    return rows


def create(kind: str | Callable[[Schedule], bool | None] = "json", *args: Any, **kwargs: Any) -> Database:
    """Return a database: ``json``, ``memory``, ``union`` or ``ordered_union``, or by a function of schedules."""
    if callable(kind):
        return ScheduleFnDatabase(kind)
    kinds: dict[str, Callable[..., Database]] = {
        "json": JSONDatabase, "memory": MemoryDatabase, "union": UnionDatabase, "ordered_union": OrderedUnionDatabase,
    }  # fmt: skip
    return created("Database.create", kinds, kind, *args, **kwargs)
