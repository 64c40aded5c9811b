"""One recorded run of a script, from the request to the last snapshot."""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import NoReturn, SupportsIndex

from app.artifacts import MOMENTARY, Problem
from app.proposals import Subject
from app.protocol import Failed, Message, Request, Snapshot
from app.recorder.answers import PRINTING_SECONDS, AnswerBuilder
from app.recorder.causes.explain import explain
from app.recorder.completion import Completion
from app.recorder.gpus.kernel_scripts import KernelScripts, attached_kernel_scripts
from app.recorder.measuring.ladder import Ladder
from app.recorder.measuring.model_searching import decided
from app.recorder.measuring.recording import program_of, record_functions, record_schedule
from app.recorder.proposals.proposer import propose
from app.recorder.proposals.scopes import Scopes
from app.recorder.recorder import Recorder
from app.recorder.scripts.allowance import Allowance
from app.recorder.scripts.built_files import send_file
from app.recorder.scripts.frames import current_line, main_thread_line
from app.recorder.scripts.policy import MOMENT_PATIENCE_SECONDS, MOMENT_SECONDS, CallPolicy
from app.recorder.scripts.script import Script
from app.recorder.scripts.shell import system
from app.recorder.scripts.watchdog import Watchdog
from app.sandbox.crash_report import report_crashes
from compiler.classic import alias
from compiler.ir.error import TVMError
from compiler.ir.instrument import Instrument, instrumented, uninstrumented
from compiler.ir.origin import OriginTable, recording
from compiler.runtime.parallel.threads import set_num_threads
from compiler.target.codegen.llvm.pipeline import commented_assembly
from compiler.target.target import Target

_exit, _system = os._exit, os.system
GRACE_SECONDS = 0.5
"""Time beyond its budget after which a script that does not stop is left where it is: in native code, or stubborn."""


class Session:
    """Runs the script of one request and sends what was seen.

    Parameters
    ----------
    send : callable
        Takes each message.
    send_part : callable, optional
        Takes each part of a file; of no use where no file is asked for.
    guarded : bool
        Whether watchdogs end this process when native code does not come back.
    """

    def __init__(
        self,
        request: Request,
        send: Callable[[Message], None],
        send_part: Callable[[bytes], None] | None = None,
        guarded: bool = True,
    ) -> None:
        self._request = request
        self._send = send
        self._send_part = send_part
        self._table = OriginTable()
        self._script = Script(request.script, hurried=request.mode in MOMENTARY - {"record", "file"})
        self._recorder = Recorder()
        self._scopes = Scopes()
        filters = request.options.assembly_filters
        self._kernels = KernelScripts(attached_kernel_scripts())
        allowed = (request.budget_seconds, max(request.budget_seconds, request.patience_seconds))
        self._answers = AnswerBuilder(
            request.mode, self._recorder, self._table, self._script, filters, self._kernels, job_seconds=allowed[1]
        )
        note = self._script.transcript.note
        self._completion = Completion(
            request.mode,
            request.options,
            self._recorder,
            request.compiles_cuda,
            self._script.names,
            note,
            self._script.report,
        )
        moment = Watchdog(MOMENT_SECONDS, self._give_up_kernel, MOMENT_PATIENCE_SECONDS)
        kernels = moment if guarded and request.mode in MOMENTARY else None
        self._policy = CallPolicy(request, self._recorder, self._script.transcript, self._before_native, kernels)
        seconds, patience = (time + GRACE_SECONDS for time in allowed)
        self._guard = Watchdog(seconds, self._give_up, patience) if guarded else None
        self._allowance = Allowance(*allowed)
        self._sending = threading.RLock()
        self._codes_seen = 0

    def run(self) -> None:
        """Run the script in full, then send the last snapshot; what is to be measured follows it."""
        with self._script.as_main():
            self._run()

    def _run(self) -> None:
        if self._guard is not None:
            report_crashes()
        alias.install()
        set_num_threads(self._request.options.threads)
        Target.default_opt_level = self._request.options.opt_level
        scopes = [self._scopes] if self._request.mode == "propose" else []
        watching = [self._recorder, self._policy, self._kernels, *self._decided(), *scopes]
        instruments = instrumented(*watching, process_wide=True)
        guard = nullcontext() if self._guard is None else self._guard.watching(None)
        comments = commented_assembly() if "comments" in self._request.options.assembly_filters else nullcontext()
        with recording(self._table, process_wide=True), instruments, guard, comments, self._exits_noted():
            self._script.run(
                self._allowance, self._completion.run, self._completion.run_after_failure, self._policy.has_broken_off
            )
        for program in self._completion.cuda_programs():
            self._send(program)
        measures = self._request.mode in ("ladder", "record", "propose", "file")
        traces = self._request.options.llvm_passes and not measures
        if self._request.mode == "run" and self._recorder.graphs.last is not None:
            self._snapshot(None)  # checking the passes of a model takes longer than measuring its kernels
        try:
            self._completion.check_graphs()
            if self._request.options.todays_tvm and not measures:
                with recording(self._table):
                    self._completion.write_programs()
        finally:  # should the explorer fail at this, the panes are not lost
            self._snapshot(None, patience=0.0 if measures else PRINTING_SECONDS, traces_passes=traces)
        if not measures:
            self._report_kernels(traces)
        if traces:
            self._completion.trace_llvm_passes()
            self._snapshot(None)
        measurable = bool(self._recorder.schedules) or not self._script.problems
        if not measures or not measurable or self._script.timed_out:
            return
        with uninstrumented():
            if self._request.file is not None and self._send_part is not None:
                largest = self._request.file_bytes
                self._send(send_file(self._request.file, self._recorder, largest, self._send_part))
            elif self._request.mode == "record":
                self._record()
            elif self._request.subject is not None:
                self._propose(self._request.subject)
            elif self._request.explained is not None:
                self._explain(self._request.explained)
            else:
                self._ladder()

    def _report_kernels(self, traces_passes: bool) -> None:
        """Tell what is known of kernels; that takes none of the script's time."""
        with recording(self._table):
            reported = self._completion.report_kernels()
        if reported:
            self._snapshot(None, traces_passes=traces_passes)

    def _decided(self) -> list[Instrument]:
        """Return what builds models as a search has decided, unless they are recorded, for another search to begin."""
        try:
            applied = decided() if self._request.mode != "record" else None
        except TVMError as error:
            self._script.report(error)
            return []
        return [applied] if applied else []

    # snapshots

    def _snapshot(
        self, running_line: int | None, patience: float = PRINTING_SECONDS, traces_passes: bool = False
    ) -> None:
        """Send what was seen; one thread at a time, and not broken off by the end of the script's time."""
        with self._sending:
            self._script.shielded = True
            try:
                answer = self._answers.snapshot(self._policy.measurements, patience, self._policy.starved)
                self._send(Snapshot(answer=answer, running_line=running_line, traces_passes=traces_passes))
            finally:
                self._script.shielded = False

    def _before_native(self, line: int | None) -> None:
        """Send what was seen before native code runs, where there is something new."""
        codes = sum(len(function.codes) + 1 for function in self._recorder.functions)
        if codes != self._codes_seen:
            self._codes_seen = codes
            self._snapshot(line)

    # scripts that end their process

    @contextmanager
    def _exits_noted(self) -> Iterator[None]:
        """Let ``os._exit`` say that it was called, and ``os.system`` why it fails."""
        if self._guard is None:
            yield
            return
        os._exit, os.system = self._left, system
        try:
            yield
        finally:
            os._exit, os.system = _exit, _system

    def _left(self, status: SupportsIndex) -> NoReturn:
        code, line = operator.index(status) & 0xFF, current_line()
        self._leave(lambda: self._script.left(line, code))

    # native code that does not come back

    def _give_up_kernel(self, line: int | None) -> None:
        self._leave(lambda: self._script.give_up_kernel(line, MOMENT_SECONDS))

    def _give_up(self, _: int | None) -> None:
        line = main_thread_line()
        self._leave(lambda: self._script.give_up(line, self._allowance))

    def _leave(self, note: Callable[[], None]) -> NoReturn:
        """Show what was seen, the quick part first, and end the process: there is no other way out of native code."""
        with self._sending:
            note()
            self._snapshot(None, patience=0.0)
            self._snapshot(None)
            _exit(0)

    # what may come next

    def _propose(self, subject: Subject) -> None:
        self._send(propose(subject, self._script.source, self._recorder, self._scopes, self._request.options))

    def _explain(self, unit: int) -> None:
        self._send(explain(unit, self._script.source, self._recorder, self._scopes, self._request.options))

    # what is to be measured

    def _record(self) -> None:
        for function in record_functions(self._recorder, self._request.options):
            self._send(function)

    def _ladder(self) -> None:
        """Send the last schedule for another process to measure; measure it here where that is impossible."""
        schedule = self._recorder.last_schedule
        if schedule is None:
            problem = Problem(kind="NoSchedule", message="the ladder measures a schedule, and this script creates none")
            self._send(Failed(label="ladder", problem=problem))
            return
        recorded = record_schedule(schedule, self._recorder, self._request.options)
        self._send(recorded)
        if recorded.program:
            return
        try:
            program, target = program_of(schedule, self._recorder, self._request.options)
            Ladder(program, target, self._request.options, self._send).run()
        except TVMError as exc:
            self._send(Failed(label="ladder", problem=Problem(kind=type(exc).__name__, message=str(exc))))
