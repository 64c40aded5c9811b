"""Prepares kernels for the visitor's GPU; results never return to the server."""

from __future__ import annotations

import msgspec

from app.artifacts import Workspace
from app.jobs.clients import Client
from app.jobs.launcher import Launcher
from app.jobs.recorded_programs import RecordedPrograms
from app.sandbox import Job
from app.webgpu import GPUPrepared, GPUProgram


class GPUAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A program for the visitor's GPU, or why there is none."""

    program: GPUProgram | None = None
    problem: str = ""


class GPUPreparer:
    """Prepares programs for the visitor's GPU."""

    def __init__(self, launcher: Launcher, programs: RecordedPrograms) -> None:
        self._launcher = launcher
        self._programs = programs

    def prepare(self, workspace: Workspace, client: Client, unit: int = -1, prefixes: bool = False) -> GPUAnswer:
        """Run a script, and prepare the kernels of one of its functions for a browser.

        Parameters
        ----------
        unit : int
            Position among the functions; -1 is the last one.
        prefixes : bool
            Whether to prepare every prefix of its schedule.

        Raises
        ------
        Superseded, Busy, Unavailable, RequestError
            As in :meth:`~app.jobs.recorded_programs.RecordedPrograms.work`.
        """

        def start(program: str) -> Job:
            return self._launcher.start_webgpu(program, workspace.options, prefixes)

        prepared, problem = self._programs.work(GPUPrepared, start, workspace, client, unit, graphs=True)
        return GPUAnswer(program=prepared.program if prepared else None, problem=problem)
