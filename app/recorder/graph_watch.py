"""Watches the passes that a script runs over graphs, and what it builds of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from app.recorder.script import current_line
from compiler.ir.instrument import Instrument
from compiler.ir.module import IRModule
from compiler.ir.transform import PassInfo
from compiler.relay.expr import Function

MOST_GRAPHS = 16
"""Graphs of one script that are shown; what comes after is counted."""


@dataclass(slots=True)
class GraphPass:
    """One pass that ran: the module after it, and how long it took."""

    name: str
    module: IRModule
    milliseconds: float
    changed: bool
    line: int | None
    same: bool | None = None
    """Whether it computes the same as before, where that was tried."""
    error: float | None = None
    left_out: str = ""
    """Why it did not run; empty for one that did."""


@dataclass(slots=True)
class GraphRecord:
    """One graph from its first form to its kernels."""

    name: str
    line: int | None
    first: IRModule
    passes: list[GraphPass] = field(default_factory=list)
    target: Any = None
    built: Any = None
    seconds: dict[str, float] = field(default_factory=dict)
    """Of each kernel that was measured, all of its calls in one run."""

    @property
    def last(self) -> IRModule:
        """The module after the last pass."""
        return self.passes[-1].module if self.passes else self.first


@dataclass(slots=True)
class _Running:
    """A pass that has begun: what it was given, and which passes it ran itself."""

    module: IRModule
    started: float
    record: GraphRecord | None
    inner: list[GraphPass] = field(default_factory=list)


class GraphWatcher(Instrument):
    """Keeps every graph that a script makes, with the passes that it went through.

    A pass continues the record whose last module it is given; any other module begins a record of its own.
    """

    def __init__(self) -> None:
        self.graphs: list[GraphRecord] = []
        self.left_out = 0
        self._running: list[_Running] = []
        self._building: GraphRecord | None = None
        self._unasked = False

    # graphs that appear

    def module_created(self, module: IRModule) -> None:
        """A user's call made a module of graphs."""
        if is_graph(module):
            self._begin(module)

    def graph_build_begin(self, module: IRModule, target: Any) -> None:
        record = self._building if self._unasked else self._record_of(module)
        self._building = record
        if record is not None:
            record.target = target

    def graph_build_end(self, built: Any) -> None:
        if self._building is not None:
            self._building.built = built
            self._building = None

    def _begin(self, module: IRModule) -> GraphRecord | None:
        if len(self.graphs) >= MOST_GRAPHS:
            self.left_out += 1
            return None
        record = GraphRecord("main", current_line(), module)
        self.graphs.append(record)
        return record

    def _record_of(self, module: IRModule) -> GraphRecord | None:
        """Return the record that ``module`` is the end of, else a new one; while a graph is built, its own."""
        if self._building is not None:
            return self._building
        found = next((record for record in reversed(self.graphs) if record.last is module), None)
        return found or self._begin(module)

    @contextmanager
    def building_unasked(self, record: GraphRecord) -> Iterator[None]:
        """Keep what is built meanwhile as that of ``record``; its passes are not the user's and are not shown."""
        self._building, self._unasked = record, True
        try:
            yield
        finally:
            self._building, self._unasked = None, False

    # passes

    def pass_skipped(self, mod: IRModule, info: PassInfo, reason: str) -> None:
        if self._unasked or not is_graph(mod):
            return
        item = GraphPass(info.name, mod, 0.0, False, current_line(), left_out=reason)
        record = self._running[0].record if self._running else self._record_of(mod)
        if self._running:
            self._running[-1].inner.append(item)
        elif record is not None:
            record.passes.append(item)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        record = self._record_of(mod) if is_graph(mod) and not self._running else None
        if self._running:
            record = self._running[0].record
        if self._unasked:
            record = None
        self._running.append(_Running(mod, time.perf_counter(), record))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        running = self._running.pop()
        if running.record is None:
            return
        if running.inner and running.inner[-1].module is mod:
            done = running.inner  # a sequence of passes is shown as its members
        else:
            elapsed = (time.perf_counter() - running.started) * 1e3
            done = [GraphPass(info.name, mod, elapsed, mod is not running.module, current_line())]
        if self._running:
            self._running[-1].inner += done
        else:
            running.record.passes += done


def is_graph(module: IRModule) -> bool:
    """Return whether a module has functions of graphs."""
    return any(isinstance(func, Function) for func in module.functions.values())
