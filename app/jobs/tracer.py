"""Traces functions for the player: one process records the function, and another one interprets it."""

from __future__ import annotations

import msgspec

from app.artifacts import Workspace
from app.jobs.clients import Client
from app.jobs.launcher import Launcher
from app.jobs.recorded_programs import RecordedPrograms
from app.sandbox import Job
from app.traces import Trace, TracedProgram


class TraceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A trace, or why there is none."""

    trace: Trace | None = None
    problem: str = ""


class Tracer:
    """Traces the functions of scripts."""

    def __init__(self, launcher: Launcher, programs: RecordedPrograms) -> None:
        self._launcher = launcher
        self._programs = programs

    def trace(self, workspace: Workspace, client: Client, unit: int = -1) -> TraceAnswer:
        """Run a script, and trace one of its functions.

        Parameters
        ----------
        unit : int
            Position among the functions; -1 is the last one.

        Raises
        ------
        Superseded, Busy, Unavailable, RequestError
            As in :meth:`~app.jobs.recorded_programs.RecordedPrograms.work`.
        """

        def start(program: str) -> Job:
            return self._launcher.start_recorded("trace", program, workspace.options)

        traced, problem = self._programs.work(TracedProgram, start, workspace, client, unit)
        return TraceAnswer(trace=traced.trace if traced else None, problem=problem)
