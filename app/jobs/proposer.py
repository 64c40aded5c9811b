"""Proposes schedule primitives: a process tries each one and writes its source edit."""

from __future__ import annotations

from app.artifacts import Workspace
from app.jobs.answer_reader import IncomingMessages
from app.jobs.clients import Client
from app.jobs.fair_queue import FairQueue
from app.jobs.launcher import Launcher
from app.proposals import Proposed, Subject

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
        self._launcher.check(workspace)
        with self._compiling.turn(client.address, client.tab) as ticket:
            job = self._launcher.start_proposals(workspace, subject)
            ticket.when_asked(job.interrupt)
            with self._incoming.read(job, client.address) as reader:
                proposed, problems = reader.collect(Proposed)
        return proposed[-1] if proposed else Proposed(problem=problems[0].message if problems else NOTHING)
