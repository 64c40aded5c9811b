"""Traces what a script makes: one process records the function, another that never runs the script plays it."""

from __future__ import annotations

from contextlib import closing

import msgspec

from app.artifacts import Failed, Recorded, Workspace
from app.jobs.answer_reader import Incoming
from app.jobs.callers import waiting
from app.jobs.clients import Client
from app.jobs.fair_queue import FairQueue, Ticket
from app.jobs.launcher import Launcher
from app.sandbox import Job
from app.traces import Trace, Traced

NOTHING = "this script makes no function that can be played"


class TraceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A trace, or why there is none."""

    trace: Trace | None = None
    problem: str = ""


class Tracer:
    """Makes traces.

    Parameters
    ----------
    launcher : Launcher
    compiling : FairQueue
        Queue of compilations.
    incoming : Incoming
        What is done with the messages of children.
    """

    def __init__(self, launcher: Launcher, compiling: FairQueue, incoming: Incoming) -> None:
        self._launcher = launcher
        self._compiling = compiling
        self._incoming = incoming

    def trace(self, workspace: Workspace, client: Client, unit: int = -1) -> TraceAnswer:
        """Run a script, and trace one of the functions that it makes.

        Parameters
        ----------
        workspace : Workspace
        client : Client
        unit : int
            Position among the functions; -1 is the last one.

        Returns
        -------
        TraceAnswer

        Raises
        ------
        Superseded
            The client has gone.
        Busy
            Too many requests are waiting.
        Unavailable
            The sandbox cannot run anything.
        RequestError
            The files of the workspace are refused; see :meth:`~app.jobs.launcher.Launcher.check`.
        """
        self._launcher.check(workspace)
        ticket = self._compiling.enter(client.address, client.tab)
        with waiting(ticket.end):
            try:
                ticket.wait()
                recorded = self._recorded(workspace, client, ticket)
                if not recorded:
                    return TraceAnswer(problem=NOTHING)
                chosen = recorded[unit if -1 <= unit < len(recorded) else -1]
                if not chosen.program:
                    return TraceAnswer(problem=f"{chosen.name}: {chosen.reason}")
                return self._played(chosen, workspace, client, ticket)
            finally:
                ticket.end()

    def _recorded(self, workspace: Workspace, client: Client, ticket: Ticket) -> list[Recorded]:
        job = self._held(self._launcher.start("record", workspace), ticket)
        with waiting(job.cancel), self._incoming.read(job, client.address) as reader:
            with closing(reader.events()) as events:
                recorded = [event for event in events if isinstance(event, Recorded)]
            reader.finish()
        return recorded

    def _played(self, recorded: Recorded, workspace: Workspace, client: Client, ticket: Ticket) -> TraceAnswer:
        job = self._held(self._launcher.start_trace(recorded.program, workspace.options), ticket)
        trace, problem = None, ""
        with waiting(job.cancel), self._incoming.read(job, client.address, "server") as reader:
            with closing(reader.events()) as events:
                for event in events:
                    if isinstance(event, Traced):
                        trace = event.trace
                    elif isinstance(event, Failed):
                        problem = event.problem.message
            problems = reader.finish().problems
        if trace is None and not problem:
            problem = problems[0].message if problems else NOTHING
        return TraceAnswer(trace=trace, problem=problem)

    @staticmethod
    def _held(job: Job, ticket: Ticket) -> Job:
        ticket.when_asked(job.interrupt)
        return job
