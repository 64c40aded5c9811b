"""The recording instrument, which keeps functions and graphs with their passes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from app.recorder.gpus.device_code import kernels_of
from app.recorder.hints.values import CallValues
from app.recorder.scripts.frames import current_line
from app.recorder.units.file_formats import read_file
from app.recorder.units.model_file import ModelFile
from app.recorder.units.schedules import BlockSchedule, ScheduleRecord, Source, TensorSchedule
from app.recorder.units.subjects import (
    MAX_FUNCTIONS,
    MAX_GRAPHS,
    CodeRecord,
    FunctionSubject,
    GraphSubject,
    PassRecord,
    Subject,
    SubjectList,
    is_graph,
)
from compiler.driver.relay.build import BuiltGraph
from compiler.ir.error import TVMError
from compiler.ir.instrument import CodeForm, Instrument
from compiler.ir.module import IRModule
from compiler.ir.origin import current_ambient
from compiler.ir.passes.context import PassContext
from compiler.ir.printing.text import TextBuilder
from compiler.ir.transform import PassInfo
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.modules.module import Module
from compiler.runtime.vm import Executable
from compiler.target.assembly_targets import AssemblyTarget
from compiler.target.target import Target
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.schedule.schedule import Schedule as TIRSchedule
from compiler.tir.schedule.step import ScheduleStep
from compiler.tir.statements.function import PrimFunc

if TYPE_CHECKING:
    from compiler.ir.instrument.interface import Callee

DEVICE_PHASE = 4
"""Phase of the passes that split kernels from the host's functions; those before are the phases of lowering."""
MAX_FILES = 4
"""Models that were read and not imported of one script that are shown."""
MAX_SCHEDULES = 200
"""Schedules that are kept."""


@dataclass(slots=True)
class _RunningPass:
    """A pass that has begun: what it was given, and which passes it ran itself."""

    module: IRModule
    started: float
    subject: Subject | None
    members: list[PassRecord] = field(default_factory=list)


class Recorder(Instrument):
    """Keeps every schedule, function and graph that a script makes.

    A pass over a graph continues the subject whose last module it is given; any other module begins one of its own.
    A pass over loops belongs to the function that is being lowered.
    """

    def __init__(self) -> None:
        self.functions: SubjectList[FunctionSubject] = SubjectList(MAX_FUNCTIONS)
        self.graphs: SubjectList[GraphSubject] = SubjectList(MAX_GRAPHS)
        self.schedules: list[ScheduleRecord] = []
        self.calls = CallValues()
        self.refused_files: list[ModelFile] = []
        """The models that were read and not imported, the last ones."""
        self.last_program: PrimFunc | IRModule | None = None
        self._function: FunctionSubject | None = None
        self._graph: GraphSubject | None = None
        self._in_graph_build = False
        self._is_explorers_build = False
        self._machine: AssemblyTarget | None = None
        self._running: list[_RunningPass] = []

    # programs, schedules and lowering

    def program_parsed(self, program: PrimFunc | IRModule) -> None:
        self.last_program = program

    def schedule_created(self, schedule: Schedule) -> None:
        if not self._in_graph_build:
            self.schedules.append(TensorSchedule(schedule))

    def tir_schedule_created(self, schedule: TIRSchedule, parent: TIRSchedule | None) -> None:
        """Keep a schedule; of the many copies that a search makes, the last ones."""
        if self._in_graph_build:
            return
        if len(self.schedules) >= MAX_SCHEDULES:
            self.schedules.remove(next((s for s in self.schedules if s.is_copy), self.schedules[0]))
        self.schedules.append(BlockSchedule(schedule, self._block_schedule(parent)))

    def tir_step_applied(self, schedule: TIRSchedule, step: ScheduleStep) -> None:
        record = self._block_schedule(schedule)
        if record is not None:
            record.add(step)
            self.calls.note_loops(schedule, step.name, step.results)

    def tir_step_refused(self, schedule: TIRSchedule, step: ScheduleStep, error: TVMError) -> None:
        record = self._block_schedule(schedule)
        if record is not None:
            record.add(step, error)

    def _block_schedule(self, schedule: TIRSchedule | None) -> BlockSchedule | None:
        records = (record for record in reversed(self.schedules) if isinstance(record, BlockSchedule))
        return next((record for record in records if record.schedule is schedule), None)

    def _schedule_of(self, source: Source) -> ScheduleRecord | None:
        """Return the schedule that made a program; of several, one that stands there, and no copy if possible."""
        applied = {schedule: schedule.applied_in(source) for schedule in reversed(self.schedules)}
        candidates = [schedule for schedule, count in applied.items() if count is not None]
        return max(candidates, key=lambda s: (applied[s] == s.count, not s.is_copy), default=None)

    def lower_begin(self, name: str, source: Source, args: Sequence[Any] | None) -> None:
        """Begin a function, in place of an older one that was lowered from the same schedule and not built."""
        if self._in_graph_build:
            return
        schedule = self._schedule_of(source)
        count = (schedule.applied_in(source) if schedule else None) or 0
        self._function = FunctionSubject(
            name, current_line(), source=source, args=args, schedule=schedule, primitives=count
        )
        for old in self.functions:
            if old.is_made_from(source, count) and old.built is None:
                self.functions.replace(old, self._function)
                return
        self.functions.add(self._function)

    def phase_end(self, phase: int, module: IRModule) -> None:
        function = self._function
        if function is None:
            return
        if function.first is None:
            function.first = module
        for record in function.passes:
            if record.phase is None:
                record.phase = phase

    def lower_end(self, module: IRModule | None) -> None:
        if self._function is not None:
            self._function.lowered = module
            self._function = None

    # code generation

    def build_begin(self, name: str, module: IRModule, target: Target, lowered: IRModule) -> None:
        if self._in_graph_build:
            return
        function = next((f for f in reversed(self.functions) if f.lowered is lowered), None)
        if function is None or function.built is not None:
            function = FunctionSubject(name, current_line(), first=lowered, source=lowered, lowered=lowered)
            self.functions.add(function)
        function.name = name
        function.final = module
        function.target = target
        self._function = function

    def code_generated(self, form: CodeForm, language: str, text: str, milliseconds: float) -> None:
        if self._function is None:
            return
        if self._machine is None:
            self._function.codes.append(CodeRecord(form, text, milliseconds, target=self._function.target))
        elif form == "assembly":
            machine = self._machine
            self._function.codes.append(CodeRecord(machine.name, text, milliseconds, target=machine.target))

    def source_generated(self, language: str, listing: TextBuilder, milliseconds: float) -> None:
        if self._function is not None and self._machine is None:
            self._function.codes.append(CodeRecord(language, listing.text(), milliseconds, listing))

    def build_end(self, built: Module | None) -> None:
        if self._function is not None:
            self._function.built = built
            kernels = kernels_of(self._function)
            if kernels is not None:
                self._function.final = kernels
                for record in self._function.passes:
                    record.phase = DEVICE_PHASE if record.phase is None else record.phase
            self._function = None

    @contextmanager
    def assembling(self, function: FunctionSubject, machine: AssemblyTarget) -> Iterator[None]:
        """Keep the assembly that is made meanwhile, and nothing else, as that of ``function`` for another machine."""
        self._function, self._machine = function, machine
        try:
            yield
        finally:
            self._function = self._machine = None

    def show_prefix(self, schedule: ScheduleRecord, count: int, prefix: Source) -> None:
        """Show the function that was made from ``prefix`` in place of the last one made of ``schedule``."""
        shown = next(function for function in reversed(self.functions) if function.source is prefix)
        replaced = next((f for f in reversed(self.functions) if f.schedule is schedule and f is not shown), None)
        shown.schedule, shown.primitives, shown.is_prefix = schedule, count, True
        if replaced is not None:
            shown.line = replaced.line
            self.functions.replace(replaced, shown)

    @property
    def is_empty(self) -> bool:
        """Whether the script scheduled, lowered, parsed and built nothing."""
        return not (self.schedules or len(self.functions) or len(self.graphs) or self.last_program is not None)

    @property
    def last_schedule(self) -> ScheduleRecord | None:
        """The schedule that is shown and measured: the last one; copies that nothing was made of were only tried."""
        used = {id(function.schedule) for function in self.functions}
        return next((s for s in reversed(self.schedules) if not s.is_copy or id(s) in used), None)

    def function_from(self, schedule: ScheduleRecord) -> FunctionSubject | None:
        """Return the last function that was lowered from a schedule."""
        return next((function for function in reversed(self.functions) if function.schedule is schedule), None)

    def function_of(self, built: Callee) -> FunctionSubject | None:
        """Return the function that ``built`` is the machine code of."""
        return next((function for function in self.functions if function.built is built), None)

    # graphs

    def model_read(self, form: str, model: object) -> None:
        table = current_ambient().table
        file = read_file(form, model, current_line(), len(table.rows) if table is not None else 0)
        if file is not None:
            self.refused_files = [*self.refused_files, file][-MAX_FILES:]

    def model_imported(self, module: IRModule, weights: Mapping[str, NDArray]) -> None:
        file = self.refused_files.pop() if self.refused_files else None
        if file is not None:
            file = replace(file, imported=weights, stored=None)
        for graph in self.graphs:
            if graph.first is module:
                graph.file = file

    def module_created(self, module: IRModule) -> None:
        if is_graph(module):
            self._begin_graph(module)

    def graph_build_begin(self, module: IRModule, target: Target) -> None:
        """Begin a build; the kernels of a graph are many: they are shown one at a time, on request."""
        self._in_graph_build = True
        if not self._is_explorers_build:
            self._graph = self._graph_of(module)
        if self._graph is not None:
            self._graph.target, self._graph.context = target, PassContext.current()

    def graph_build_end(self, built: BuiltGraph | Executable | None) -> None:
        self._in_graph_build = False
        if self._graph is not None:
            self._graph.built = built
            self._graph = None

    def _begin_graph(self, module: IRModule) -> GraphSubject | None:
        graph = GraphSubject("main", current_line(), module)
        return graph if self.graphs.add(graph) else None

    def _graph_of(self, module: IRModule) -> GraphSubject | None:
        """Return the graph that ``module`` is the end of, else a new one; while a graph is built, that one."""
        if self._graph is not None:
            return self._graph
        graph = next((graph for graph in reversed(self.graphs) if graph.last is module), None)
        return graph or self._begin_graph(module)

    @contextmanager
    def building_for_explorer(self, graph: GraphSubject) -> Iterator[None]:
        """Keep what is built meanwhile as that of ``graph``; its passes are not the user's and are not shown."""
        self._graph, self._is_explorers_build = graph, True
        try:
            yield
        finally:
            self._graph, self._is_explorers_build = None, False

    # passes

    def pass_skipped(self, mod: IRModule, info: PassInfo, reason: str) -> None:
        subject = self._subject_of_pass(mod)
        if isinstance(subject, GraphSubject):
            self._keep(subject, [PassRecord(info.name, mod, line=current_line(), skipped=reason)])

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        subject = self._subject_of_pass(mod)
        if subject is not None and subject.first is None:
            subject.first = mod
        self._running.append(_RunningPass(mod, time.perf_counter(), subject))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Keep the pass; a sequence without a name of its own is shown as its members."""
        running = self._running.pop()
        if running.subject is None:
            return
        if info.name == "sequential":
            self._keep(running.subject, running.members)
            return
        elapsed = (time.perf_counter() - running.started) * 1e3
        record = PassRecord(info.name, mod, elapsed, mod is not running.module, current_line())
        self._keep(running.subject, running.subject.steps_of(record, running.members))

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        running = self._running.pop()
        if running.subject is not None:
            self._keep(running.subject, running.members)

    def _subject_of_pass(self, module: IRModule) -> Subject | None:
        """Return what a pass belongs to that begins now: what the outermost running pass belongs to, if one runs."""
        if self._running:
            return self._running[0].subject
        if not is_graph(module):
            return self._function
        return None if self._is_explorers_build else self._graph_of(module)

    def _keep(self, subject: Subject, records: list[PassRecord]) -> None:
        (self._running[-1].members if self._running else subject.passes).extend(records)
