"""Jobs on recorded programs: one process records a function, and another, which never runs the script, uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from app.artifacts import Problem, Workspace
from app.jobs.answer_reader import IncomingMessages
from app.jobs.clients import Client
from app.jobs.fair_queue import FairQueue, Ticket
from app.jobs.launcher import Launcher
from app.protocol import ProgramDefinition, RecordedFunction, Request
from app.sandbox import Job
from app.searches import CandidateTexts, Decision, SoughtKernel
from app.traces import Trace, TracedProgram
from app.webgpu import GPUPrepared, GPUProgram

Result = TypeVar("Result", TracedProgram, GPUPrepared, ProgramDefinition, CandidateTexts)


class TraceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A trace, or why there is none."""

    trace: Trace | None = None
    problem: str = ""


class GPUAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A program for the visitor's GPU, or why there is none."""

    program: GPUProgram | None = None
    problem: str = ""


class CandidateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate as texts, or why there is none."""

    candidate: CandidateTexts | None = None
    problem: str = ""


class RecordedPrograms:
    """Records a function, and runs a second process on it.

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

    def work(
        self,
        kind: type[Result],
        start: Callable[[str], Job],
        workspace: Workspace,
        client: Client,
        unit: int,
        graphs: bool = False,
    ) -> tuple[Result | None, str]:
        """Run a script, and process one of its functions in a second process.

        Parameters
        ----------
        kind : type
            Type of the message with the result.
        start : callable
            Starts the second process, given the serialized function.
        unit : int
            Position among the functions; -1 is the last one.
        graphs : bool
            Whether to include models.

        Returns
        -------
        tuple of (kind or None, str)
            The result, or why there is none.

        Raises
        ------
        Superseded
            If the client has disconnected.
        Busy
            If too many requests are waiting.
        Unavailable
            If the sandbox cannot run anything.
        RequestError
            If the files of the workspace are rejected; see :meth:`~app.jobs.launcher.Launcher.check`.
        """
        self._launcher.check(workspace)
        with self._compiling.turn(client.address, client.tab, long=workspace.is_long) as ticket:
            recorded, problem = self._recorded(workspace, client, ticket)
            if not recorded:
                return None, problem or "this script builds no function"
            chosen = recorded[unit if -1 <= unit < len(recorded) else -1]
            program = chosen.program or (chosen.graph if graphs else "")
            if not program:
                return None, f"{chosen.name}: {chosen.reason}"
            return self._result(kind, start(program), client, ticket)

    def trace(self, workspace: Workspace, client: Client, unit: int = -1) -> TraceAnswer:
        """Run a script, and interpret one of its functions for the player; see :meth:`work`."""

        def start(program: str) -> Job:
            return self._launcher.start_request(Request(mode="trace", program=program, options=workspace.options))

        traced, problem = self.work(TracedProgram, start, workspace, client, unit)
        return TraceAnswer(trace=traced.trace if traced else None, problem=problem)

    def prepare(self, workspace: Workspace, client: Client, unit: int = -1, prefixes: bool = False) -> GPUAnswer:
        """Run a script, and prepare the kernels of one of its functions for the visitor's GPU; see :meth:`work`.

        Results never return to the server.

        Parameters
        ----------
        prefixes : bool
            Whether to prepare every prefix of its schedule.
        """

        def start(program: str) -> Job:
            request = Request(mode="webgpu", program=program, options=workspace.options, prefixes=prefixes)
            return self._launcher.start_request(request)

        prepared, problem = self.work(GPUPrepared, start, workspace, client, unit, graphs=True)
        return GPUAnswer(program=prepared.program if prepared else None, problem=problem)

    def candidate(
        self, workspace: Workspace, client: Client, choices: Sequence[Decision], kernel: SoughtKernel | None = None
    ) -> CandidateAnswer:
        """Run a script, and derive a candidate of its last function, or of a kernel of its last model.

        See :meth:`work`.
        """

        def start(program: str) -> Job:
            options = workspace.options
            return self._launcher.start_request(
                Request(mode="candidate", program=program, options=options, choices=list(choices), kernel=kernel)
            )

        texts, problem = self.work(CandidateTexts, start, workspace, client, -1, kernel is not None)
        return CandidateAnswer(candidate=texts, problem=problem)

    def _recorded(self, workspace: Workspace, client: Client, ticket: Ticket) -> tuple[list[RecordedFunction], str]:
        """Return the functions recorded of a script, and its problems."""
        job = self._launcher.start("record", workspace)
        ticket.when_asked(job.interrupt)
        with self._incoming.read(job, client.address) as reader:
            recorded, problems = reader.collect(RecordedFunction)
        return recorded, _said(problems[0]) if problems else ""

    def _result(self, kind: type[Result], job: Job, client: Client, ticket: Ticket) -> tuple[Result | None, str]:
        ticket.when_asked(job.interrupt)
        with self._incoming.read(job, client.address, "server") as reader:
            results, problems = reader.collect(kind)
        if results:
            return results[-1], ""
        return None, problems[0].message if problems else "its process ended without a result"


def _said(problem: Problem) -> str:
    """Format a problem of a script as one sentence."""
    return f"line {problem.line}: {problem.message}" if problem.line else problem.message
