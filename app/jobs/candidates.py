"""Shows the candidates of searches: one process records the function, and another one derives the candidate."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.artifacts import Workspace
from app.jobs.clients import Client
from app.jobs.launcher import Launcher
from app.jobs.recorded_programs import RecordedPrograms
from app.sandbox import Job
from app.searches import CandidateTexts, Decision, SoughtKernel


class CandidateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate as texts, or why there is none."""

    candidate: CandidateTexts | None = None
    problem: str = ""


class Candidates:
    """Shows candidates of the last function that a script makes."""

    def __init__(self, launcher: Launcher, programs: RecordedPrograms) -> None:
        self._launcher = launcher
        self._programs = programs

    def show(
        self, workspace: Workspace, client: Client, choices: Sequence[Decision], kernel: SoughtKernel | None = None
    ) -> CandidateAnswer:
        """Run a script, and derive a candidate of its last function, or of a kernel of its last model.

        Raises
        ------
        Superseded, Busy, Unavailable, RequestError
            As in :meth:`~app.jobs.recorded_programs.RecordedPrograms.work`.
        """

        def start(program: str) -> Job:
            return self._launcher.start_candidate(program, workspace.options, choices, kernel)

        texts, problem = self._programs.work(CandidateTexts, start, workspace, client, -1, kernel is not None)
        return CandidateAnswer(candidate=texts, problem=problem)
