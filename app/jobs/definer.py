"""Tells what the function of a script computes, so that measurements of other scripts can be compared with it."""

from __future__ import annotations

import logging

from app.artifacts import Workspace
from app.jobs.cache import content_key
from app.jobs.clients import Client
from app.jobs.launcher import Launcher
from app.jobs.recorded_programs import RecordedPrograms
from app.jobs.single_flight import SingleFlight
from app.protocol import ProgramDefinition, Request
from app.sandbox import Job

log = logging.getLogger(__name__)

MAX_KEPT = 256
"""Number of remembered definitions: of the lessons' steps, and of the scripts that were compared last."""


class Definer:
    """Remembers what scripts compute."""

    def __init__(self, launcher: Launcher, programs: RecordedPrograms) -> None:
        self._launcher = launcher
        self._programs = programs
        self._flights: SingleFlight[str] = SingleFlight()
        self._kept: dict[bytes, str] = {}

    def definition(self, script: str, client: Client) -> str:
        """Return what the last function of a script computes, as measurements say it; empty if that is unknown.

        Parameters
        ----------
        script : str
            A script whose author could forge the answer, so that no times are compared by it.
        client : Client
            On whose behalf it runs, the first time.

        Raises
        ------
        Superseded, Busy, Unavailable, RequestError
            As in :meth:`~app.jobs.recorded_programs.RecordedPrograms.work`.
        """
        workspace = Workspace(script=script)
        key = content_key("define", workspace)
        cached = self._kept.get(key)
        if cached is not None:
            return cached
        return self._flights.join(key, lambda: self._define(key, workspace, client))

    def _define(self, key: bytes, workspace: Workspace, client: Client) -> str:
        def start(program: str) -> Job:
            return self._launcher.start_request(Request(mode="define", program=program, options=workspace.options))

        defined, problem = self._programs.work(ProgramDefinition, start, workspace, client, -1)
        if defined is None:
            log.warning("a script has no definition to compare with the lesson's: %s", problem)
            return ""
        if len(self._kept) >= MAX_KEPT:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[key] = defined.definition
        return defined.definition
