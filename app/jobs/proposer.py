"""Proposes schedule primitives: a process tries each one and writes its source edit."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from app.artifacts import Workspace
from app.causes import Why
from app.jobs.answer_reader import IncomingMessages
from app.jobs.clients import Client
from app.jobs.fair_queue import FairQueue
from app.jobs.launcher import Launcher
from app.proposals import Proposed, Subject
from app.protocol import Request

T = TypeVar("T", Proposed, Why)
NOTHING = "the script creates no schedule"


class Proposer:
    """Proposes schedule primitives.

    Parameters
    ----------
    compiling : FairQueue
        The queue of compilations.
    incoming : IncomingMessages
        Processes the messages of children.
    """

    def __init__(self, launcher: Launcher, compiling: FairQueue, incoming: IncomingMessages) -> None:
        self._launcher = launcher
        self._compiling = compiling
        self._incoming = incoming

    def propose(self, workspace: Workspace, client: Client, subject: Subject) -> Proposed:
        """Run a script, and propose primitives for one of its schedules.

        Parameters
        ----------
        subject : Subject
            The loop or stage to propose primitives for.

        Raises
        ------
        Superseded, Busy, Unavailable, RequestError
            As in :meth:`~app.jobs.recorded_programs.RecordedPrograms.work`.
        """
        proposed, problem = self._answered(workspace, client, Proposed, _request(workspace, subject=subject))
        return proposed or Proposed(problem=problem)

    def explain(self, workspace: Workspace, client: Client, unit: int) -> Why:
        """Run a script, and say why one of its functions takes its time; raises what the other method does."""
        why, problem = self._answered(workspace, client, Why, _request(workspace, explained=unit))
        return why or Why(problem=problem)

    def _answered(self, workspace: Workspace, client: Client, kind: type[T], request: Request) -> tuple[T | None, str]:
        """Return the answer of a job, or why it has none."""
        self._launcher.check(workspace)
        with self._compiling.turn(client.address, client.tab, long=workspace.is_long) as ticket:
            job = self._launcher.start_request(request, workspace)
            ticket.when_asked(job.interrupt)
            with self._incoming.read(job, client.address) as reader:
                answers, problems = reader.collect(kind)
        return (answers[-1] if answers else None), (problems[0].message if problems else NOTHING)


def _request(workspace: Workspace, subject: Subject | None = None, explained: int | None = None) -> Request:
    options = msgspec.structs.replace(workspace.options, prefix=None)
    return Request(mode="propose", script=workspace.script, subject=subject, explained=explained, options=options)
