"""One run of a script under watch, from the request to the last snapshot."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from app.artifacts import Failed, Measurement, Message, Mode, Problem, Request, Snapshot
from app.recorder.answer import PRINTING_SECONDS, AnswerBuilder
from app.recorder.environment import CPU, environment
from app.recorder.graph_check import check_passes
from app.recorder.graph_watch import GraphWatcher
from app.recorder.kernel_view import dearest_kernel, measure_kernels, show_kernel
from app.recorder.ladder import Ladder
from app.recorder.measure import Timing
from app.recorder.policy import MOMENT_SECONDS, CallPolicy
from app.recorder.script import Script, main_thread_line
from app.recorder.watch import UnitRecord, Watcher, primitive_count
from app.recorder.watchdog import Watchdog
from compiler import alias
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.driver.relay.build import build as relay_build
from compiler.ir.error import TargetError, TVMError
from compiler.ir.instrument import instrumented, uninstrumented
from compiler.ir.module import IRModule
from compiler.ir.origin import OriginTable, recording
from compiler.runtime.threads import set_num_threads
from compiler.target.assembly_targets import HOST, assembly_targets
from compiler.target.codegen.llvm import codegen
from compiler.target.target import Target
from compiler.te.flops import schedule_flops

CHECKING_SECONDS: dict[Mode, float] = {"compile": 0.4, "run": 20.0, "ladder": 0.0}
"""How long passes over graphs may be checked."""
GRACE_SECONDS = 0.5
"""Time beyond its budget after which a script that does not stop is left where it is: in native code, or stubborn."""


class Session:
    """Runs the script of one request and sends what was seen.

    Parameters
    ----------
    request : Request
    send : callable
        Takes each message.
    guarded : bool
        Whether watchdogs end this process when native code does not come back.
    """

    def __init__(self, request: Request, send: Callable[[Message], None], guarded: bool = True) -> None:
        self._request = request
        self._send = send
        self._table = OriginTable()
        self._script = Script(request.script)
        self._watcher = Watcher()
        self._graphs = GraphWatcher()
        self._builder = AnswerBuilder(self._watcher, self._graphs, self._table, self._script, request.options)
        kernels = Watchdog(MOMENT_SECONDS, self._give_up_kernel) if guarded and request.mode == "compile" else None
        self._policy = CallPolicy(
            request.mode,
            self._watcher,
            self._script.transcript,
            describe=self._describe,
            before_native=self._before_native,
            watchdog=kernels,
        )
        self._guard = Watchdog(request.budget_seconds + GRACE_SECONDS, self._give_up) if guarded else None
        self._speaking = threading.RLock()
        self._seen = 0

    def run(self) -> None:
        """Run the script in full, then send the last snapshot; a ladder follows it."""
        alias.install()
        set_num_threads(self._request.options.threads)
        Target.default_opt_level = self._request.options.opt_level
        instruments = instrumented(self._watcher, self._graphs, self._policy, process_wide=True)
        guard = nullcontext() if self._guard is None else self._guard.watching(None)
        with recording(self._table), instruments, guard:
            self._script.run(self._request.budget_seconds, afterwards=self._complete)
        self._check_graphs()
        self._snapshot(None)
        measurable = self._last_schedule() is not None or not self._script.problems
        if self._request.mode == "ladder" and measurable and not self._script.timed_out:
            self._ladder()

    def _snapshot(self, running_line: int | None, patience: float = PRINTING_SECONDS) -> None:
        """Send what was seen; one thread at a time, and not broken off by the end of the script's time."""
        with self._speaking:
            self._script.shielded = True
            try:
                self._builder.measurements = list(self._policy.measurements)
                answer = self._builder.snapshot(self._request.mode, environment(), patience)
                self._send(Snapshot(answer=answer, running_line=running_line))
            finally:
                self._script.shielded = False

    def _before_native(self, line: int | None) -> None:
        """Send what was seen before native code runs, where there is something new."""
        seen = sum(len(unit.texts) + 1 for unit in self._watcher.units)
        if seen != self._seen:
            self._seen = seen
            self._snapshot(line)

    def _give_up_kernel(self, line: int | None) -> None:
        self._leave(lambda: self._script.give_up_kernel(line, MOMENT_SECONDS))

    def _give_up(self, _: int | None) -> None:
        line = main_thread_line()
        self._leave(lambda: self._script.give_up(line, self._request.budget_seconds))

    def _leave(self, note: Callable[[], None]) -> None:
        """Show what was seen, the quick part first, and end the process: there is no other way out of native code."""
        with self._speaking:
            note()
            self._snapshot(None, patience=0.0)
            self._snapshot(None)
            os._exit(0)

    def _complete(self) -> None:
        """Build what the script left unbuilt, and make the assembly for the machine that the user chose."""
        self._build_rest()
        self._complete_graph()
        self._assemble()

    def _assemble(self) -> None:
        key = self._request.options.assembly
        if key == HOST:
            return
        machine = assembly_targets().get(key)
        if machine is None:
            known = ", ".join(assembly_targets())
            self._script.transcript.note(f"assembly: there is no target {key!r}; there are {known}")
            return
        for unit in self._watcher.units:
            if unit.final is None:
                continue
            try:
                with self._watcher.assembling(unit, machine.name):
                    codegen(unit.final, machine.target)
            except TVMError as error:
                self._script.transcript.note(f"no assembly for {machine.name}: {error}")

    def _build_rest(self) -> None:
        """Build what the script left unbuilt, so that its panes show it down to the assembly."""
        schedule = self._last_schedule()
        if schedule is None:
            return
        prefix = self._request.options.prefix
        if prefix is not None and prefix < primitive_count(schedule):
            self._build_prefix(schedule, prefix)
            return
        done = any(u.source is schedule and u.primitives == primitive_count(schedule) for u in self._watcher.units)
        if not done:
            lower(schedule, schedule_arguments(schedule))
        unit = self._unit_of(schedule)
        if unit is not None and unit.built is None and unit.lowered is not None:
            self._build_unasked(unit.lowered, unit.name)

    def _check_graphs(self) -> None:
        """Try whether the passes of the last graph keep what it computes; for long when the user asked to run."""
        for record in self._graphs.graphs[-1:]:
            with uninstrumented():
                check_passes(record, CHECKING_SECONDS[self._request.mode])

    def _complete_graph(self) -> None:
        """Show a kernel of the last graph, and in a run measure all of them."""
        self._build_last_graph()
        built = [record for record in self._graphs.graphs if record.built is not None]
        if not built:
            return
        record = built[-1]
        if self._request.mode == "run":
            record.seconds = measure_kernels(record.built)
        wanted = self._request.options.kernel
        name = wanted or (None if self._watcher.units else dearest_kernel(record))
        if name is not None and not show_kernel(record, name, self._watcher):
            self._script.transcript.note(f"the graph has no kernel {name!r} any more")

    def _build_last_graph(self) -> None:
        """Build the last graph of a script that builds none, so that its kernels are shown."""
        graphs = self._graphs.graphs
        if not graphs or self._watcher.units or any(record.built is not None for record in graphs):
            return
        try:
            with self._graphs.building_unasked(graphs[-1]):
                relay_build(graphs[-1].last, target=Target(self._request.options.target))
        except TVMError as error:
            self._script.transcript.note(f"no kernels are shown: {error}")

    def _build_unasked(self, module: IRModule, name: str) -> None:
        """Build what the script does not; that there is no code for it is worth a note, but no mistake."""
        try:
            build(module, target=Target(self._request.options.target), name=name)
        except TargetError as error:
            self._script.transcript.note(f"no machine code is shown: {error}")

    def _build_prefix(self, schedule: Any, count: int) -> None:
        """Build the schedule as it was after ``count`` primitives."""
        unit = self._unit_of(schedule)
        args = list(unit.args) if unit is not None and unit.args else schedule_arguments(schedule)
        target = unit.target if unit is not None and unit.target else Target(self._request.options.target)
        with uninstrumented():
            prefix, mapped = schedule.replay(count)
        build(prefix, [mapped(a) for a in args], target=target, name=unit.name if unit is not None else "main")
        self._watcher.show_prefix(schedule, prefix)

    def _last_schedule(self) -> Any:
        schedules = self._watcher.schedules
        return schedules[-1] if schedules else None

    def _unit_of(self, schedule: Any) -> UnitRecord | None:
        return next((u for u in reversed(self._watcher.units) if u.source is schedule), None)

    def _ladder(self) -> None:
        schedule = self._last_schedule()
        if schedule is None:
            problem = Problem(kind="NoSchedule", message="the ladder measures a schedule, and this script makes none")
            self._send(Failed(label="ladder", problem=problem))
            return
        unit = self._unit_of(schedule)
        args = list(unit.args) if unit is not None and unit.args else schedule_arguments(schedule)
        target = unit.target if unit is not None and unit.target else Target(self._request.options.target)
        try:
            Ladder(schedule, args, target, self._request.options, self._send).run()
        except TVMError as exc:
            self._send(Failed(label="ladder", problem=Problem(kind=type(exc).__name__, message=str(exc))))

    def _describe(self, built: Any, name: str, seconds: list[float], number: int) -> Measurement:
        timing = Timing(seconds, number)
        unit = self._watcher.unit_of(built)
        schedule = unit.source if unit is not None and hasattr(unit.source, "primitives") else None
        flops = schedule_flops(schedule) if schedule is not None else None
        return Measurement(
            name=unit.name if unit is not None else name,
            kind="kernel",
            seconds=timing.median,
            spread=timing.spread,
            repeats=len(seconds),
            number=number,
            threads=self._request.options.threads,
            flops=flops,
            gflops=flops / timing.median / 1e9 if flops else None,
            cpu=CPU,
            target=str(unit.target) if unit is not None else "",
            line=unit.line if unit is not None else None,
        )


def schedule_arguments(schedule: Any) -> list[Any]:
    """Return the arguments of a function that nobody named: the placeholders that are read, then the outputs."""
    from compiler.te.operation import PlaceholderOp

    placeholders: list[Any] = []
    seen: set[Any] = set()

    def visit(op: Any) -> None:
        if op in seen:
            return
        seen.add(op)
        for tensor in op.input_tensors:
            visit(tensor.op)
            if isinstance(tensor.op, PlaceholderOp) and tensor not in placeholders:
                placeholders.append(tensor)

    for output in schedule.outputs:
        visit(output)
    return [*placeholders, *(op.output(i) for op in schedule.outputs for i in range(op.num_outputs))]
