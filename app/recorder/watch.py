"""Watches a script use the compiler, and keeps what it saw.

IR is immutable, so that keeping a module after each pass costs a reference; printing waits until an answer is made.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from app.recorder.script import current_line
from compiler.ir.instrument import CodeForm, Instrument
from compiler.ir.module import IRModule
from compiler.ir.transform import PassInfo

MOST_UNITS = 24
"""Functions of one script that are shown whole; what comes after is counted."""


@dataclass(slots=True)
class PassRecord:
    """One pass that ran: the module after it, and how long it took."""

    name: str
    module: IRModule
    milliseconds: float
    changed: bool
    phase: int | None = None


@dataclass(slots=True)
class TextRecord:
    """One text that code generation made."""

    stage: str
    language: str
    text: str
    milliseconds: float


@dataclass(slots=True)
class UnitRecord:
    """One function, from its schedule to its machine code."""

    name: str
    line: int | None
    source: Any
    args: Any
    primitives: int
    passes: list[PassRecord] = field(default_factory=list)
    first: IRModule | None = None
    """The module as the schedule gave it, before any pass."""
    lowered: IRModule | None = None
    final: IRModule | None = None
    """The module that code generation read."""
    target: Any = None
    texts: list[TextRecord] = field(default_factory=list)
    built: Any = None
    whole: Any = None
    """The user's schedule, where ``source`` is a prefix of it."""

    @property
    def schedule(self) -> Any:
        """The user's schedule, all of its primitives applied; None for a function that had none."""
        schedule = self.source if self.whole is None else self.whole
        return schedule if hasattr(schedule, "primitives") else None

    def same_program(self, source: Any, primitives: int) -> bool:
        """Return whether ``source`` in its present state is what this unit was made from."""
        return self.source is source and self.primitives == primitives


class Watcher(Instrument):
    """Keeps every schedule, pass, text and built function that a script makes."""

    def __init__(self) -> None:
        self.units: list[UnitRecord] = []
        self.left_out = 0
        self.schedules: list[Any] = []
        self.schedule_lines: dict[int, int | None] = {}
        self._current: UnitRecord | None = None
        self._machine: str | None = None
        self._in_graph = False
        self._started: list[tuple[float, IRModule]] = []

    # schedules

    def schedule_created(self, schedule: Any) -> None:
        if self._in_graph:
            return
        self.schedules.append(schedule)
        self.schedule_lines[id(schedule)] = current_line()

    # lowering

    def graph_build_begin(self, module: IRModule, target: Any) -> None:
        """A graph's kernels are many: they are shown one at a time, when they are asked for."""
        self._in_graph = True

    def graph_build_end(self, built: Any) -> None:
        self._in_graph = False

    def lower_begin(self, name: str, source: Any, args: Any) -> None:
        if self._in_graph:
            return
        unit = UnitRecord(name, current_line(), source, args, primitive_count(source))
        for index, old in enumerate(self.units):
            if old.same_program(source, unit.primitives) and old.built is None:
                self.units[index] = unit
                break
        else:
            self._keep(unit)
        self._current = unit

    def _keep(self, unit: UnitRecord) -> None:
        if len(self.units) < MOST_UNITS:
            self.units.append(unit)
        else:
            self.left_out += 1

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        unit = self._current
        if unit is not None and unit.first is None:
            unit.first = mod
        self._started.append((time.perf_counter(), mod))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        started, before = self._started.pop()
        unit = self._current
        if unit is None or info.name == "sequential":
            return
        elapsed = (time.perf_counter() - started) * 1e3
        unit.passes.append(PassRecord(info.name, mod, elapsed, mod is not before))

    def phase_end(self, phase: int, module: IRModule) -> None:
        unit = self._current
        if unit is None:
            return
        if unit.first is None:
            unit.first = module
        for record in unit.passes:
            if record.phase is None:
                record.phase = phase

    def lower_end(self, module: IRModule) -> None:
        if self._current is not None:
            self._current.lowered = module
            self._current = None

    # code generation

    def build_begin(self, name: str, module: IRModule, target: Any) -> None:
        if self._in_graph:
            return
        unit = next((u for u in reversed(self.units) if u.lowered is module), None)
        if unit is None or unit.built is not None:
            unit = UnitRecord(name, current_line(), module, None, 0, first=module, lowered=module)
            self._keep(unit)
        unit.name = name
        unit.final = module
        unit.target = target
        self._current = unit

    def code_generated(self, form: CodeForm, language: str, text: str, milliseconds: float) -> None:
        unit = self._current
        if unit is None:
            return
        if self._machine is None:
            unit.texts.append(TextRecord(form, language, text, milliseconds))
        elif form == "assembly":
            unit.texts.append(TextRecord(self._machine, language, text, milliseconds))

    def build_end(self, built: Any) -> None:
        if self._current is not None:
            self._current.built = built
            self._current = None

    @contextmanager
    def assembling(self, unit: UnitRecord, machine: str) -> Iterator[None]:
        """Keep the assembly that is made meanwhile, and nothing else, as that of ``unit`` for another machine."""
        self._current, self._machine = unit, machine
        try:
            yield
        finally:
            self._current = self._machine = None

    def show_prefix(self, whole: Any, prefix: Any) -> None:
        """Show the unit that was made from ``prefix`` in the place of the last one made from ``whole``."""
        shown = next(unit for unit in reversed(self.units) if unit.source is prefix)
        shown.whole = whole
        replaced = next((unit for unit in reversed(self.units) if unit.source is whole), None)
        if replaced is not None:
            shown.line = replaced.line
            self.units.remove(shown)
            self.units[self.units.index(replaced)] = shown

    def unit_of(self, built: Any) -> UnitRecord | None:
        """Return the unit that ``built`` came from."""
        return next((unit for unit in self.units if unit.built is built), None)


def primitive_count(source: Any) -> int:
    """Return how many primitives a schedule has had applied; 0 for anything else."""
    return len(getattr(source, "primitives", ()))
