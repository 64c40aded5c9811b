"""Measures kernels in processes that never run the script.

One process runs the script and records, as data, the functions that it makes; each is measured in a process of its
own, which is given nothing but that data.  What the first process reports itself is passed on as its own word.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import Literal

from app.artifacts import Options, Problem, Source, Workspace
from app.jobs.answer_reader import AnswerReader, Incoming
from app.jobs.answers import StoredAnswer
from app.jobs.clients import Client
from app.jobs.launcher import Launcher
from app.memory import Claim
from app.protocol import Event, Failed, Measured, MeasuredBy, Progress, Recorded
from app.sandbox import Job

What = Literal["ladder", "record"]
"""What is measured: every prefix of the last schedule, or each function that the script makes."""
ORIGINAL = "original.py"
"""Name of the file with the script that a kernel was opened as; what the edited one makes races what this one makes."""
MAX_PROGRAMS = 12
"""Functions of one script that are measured."""


class Measurer:
    """Runs one script, then measures what it recorded.

    Parameters
    ----------
    launcher : Launcher
    incoming : Incoming
        Processes the messages of children.
    client : Client
        The client on whose behalf it is done.
    hold : callable
        Is given each job that is started, so that it can be stopped.

    Attributes
    ----------
    problems : list of Problem
        Why nothing was measured, after the events; empty if something was.
    """

    def __init__(self, launcher: Launcher, incoming: Incoming, client: Client, hold: Callable[[Job], None]) -> None:
        self._launcher = launcher
        self._incoming = incoming
        self._client = client
        self._hold = hold
        self._measured = False
        self._programs: list[Recorded] = []
        self._originals: dict[str, str] = {}
        self.problems: list[Problem] = []

    def events(self, what: What, workspace: Workspace) -> Generator[Event]:
        """Yield the events of the script's process, then those of the processes that measure.

        Raises
        ------
        Superseded
            A job was cancelled.
        Unavailable
            If the sandbox cannot run anything.
        Busy
            There is no room for what the script made.
        """
        with self._incoming.budget.claim(0, self._client.address) as programs:
            answer = yield from self._record(what, workspace, programs)
            for problem in answer.problems:
                yield Failed(label=label_of(problem), problem=problem)
            if self._programs:
                yield MeasuredBy(source="server")
            if self._programs and what == "record" and ORIGINAL in workspace.files:
                yield from self._record_original(workspace, programs)
            for program in self._programs:
                yield from self._measure(program, workspace.options, prefixes=what == "ladder")
        if not self._measured or answer.status not in ("ok", "error"):
            self.problems += answer.problems  # something is measured although the script fails at something after it

    def _start(self, job: Job, source: Source) -> AnswerReader:
        self._hold(job)
        return self._incoming.read(job, self._client.address, source)

    def _record(self, what: What, workspace: Workspace, programs: Claim) -> Generator[Event, None, StoredAnswer]:
        """Run the script, and keep the functions that can be measured elsewhere."""
        job = self._launcher.start(what, workspace)
        limit = MAX_PROGRAMS if what == "record" else 1
        with self._start(job, "script") as reader, closing(reader.events()) as events:
            for event in events:
                match event:
                    case Recorded(program=""):
                        yield MeasuredBy(source="script", reason=f"{event.name}: {event.reason}")
                    case Recorded() if len(self._programs) < limit:
                        programs.grow(len(event.program))
                        self._programs.append(event)
                    case Measured() | Failed() | Progress() if not self._programs:
                        self._measured |= isinstance(event, Measured)
                        yield event
            return reader.finish()

    def _record_original(self, workspace: Workspace, programs: Claim) -> Generator[Event]:
        """Run the script that the workspace's kernel was opened as, and keep its functions by name."""
        script = workspace.files[ORIGINAL].decode("utf-8", "replace")
        job = self._launcher.start("record", Workspace(script=script, options=workspace.options))
        with self._start(job, "script") as reader, closing(reader.events()) as events:
            for event in events:
                if isinstance(event, Recorded) and len(self._originals) < MAX_PROGRAMS:
                    programs.grow(len(event.program))
                    self._originals[event.name] = event.program
            problems = reader.finish().problems
        for problem in problems:
            yield Failed(label=ORIGINAL, problem=problem)

    def _measure(self, recorded: Recorded, options: Options, prefixes: bool) -> Generator[Event]:
        original = self._originals.get(recorded.name, "")
        job = self._launcher.start_measurement(recorded.program, options, prefixes, original)
        with self._start(job, "server") as reader, closing(reader.events()) as events:
            for event in events:
                if isinstance(event, Measured | Failed | Progress):
                    self._measured |= isinstance(event, Measured)
                    yield event
            problems = reader.finish().problems
        for problem in problems:
            yield Failed(label=recorded.name, problem=problem)
        if not self._measured:
            self.problems += problems


def label_of(problem: Problem) -> str:
    """Return the label of a failure that belongs to no prefix of the schedule."""
    return f"line {problem.line}" if problem.line else "script"
