"""Measures kernels in processes that never run the script.

One process runs the script and serializes its functions; each of them is measured in a separate process, which only
receives the serialized function.  Measurements of the first process are passed on, marked as the script's own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Literal, NamedTuple

import msgspec

from app.artifacts import Options, Problem, Source, Workspace
from app.errors import InvalidBody
from app.jobs.answer_reader import AnswerReader, IncomingMessages
from app.jobs.answers import StoredAnswer
from app.jobs.clients import Client
from app.jobs.launcher import Launcher
from app.memory import Claim
from app.protocol import (
    Event,
    Failed,
    Measured,
    MeasuredBy,
    ModelTimes,
    Progress,
    RecordedFunction,
    RecordedVariant,
    Request,
)
from app.sandbox import Job
from app.searches import LOG, MAX_LOG, Found, ModelSearch, Searching, SearchSettings, Tried

What = Literal["ladder", "record", "search", "batch", "scrub"]
"""Subject of measurement: every prefix of the last schedule, each function of the script, schedules that a search
derives for the last one, the last function beside others that compute the same, or that of several scripts."""
LEAST_SECONDS = 5.0
"""What a search that made way has left to go on for."""


class Variant(NamedTuple):
    """A script that differs from others in a value."""

    value: str
    script: str


class MadeWay:
    """Comes between the events of a search that was interrupted for others, and goes on with its next turn."""


ORIGINAL = "original.py"
"""Name of the file with the original script of a kernel, which the edited one is compared with."""
NOTHING = "the script makes no function that can be measured", "the script builds no model that can be measured"
"""Why nothing is searched or measured, of functions and of models."""
MAX_PROGRAMS = 12
"""Maximum number of measured functions of a script."""


class Measurer:
    """Runs a script, then measures the functions it recorded.

    Parameters
    ----------
    incoming : IncomingMessages
        Processes the messages of children.
    client : Client
        The client on whose behalf jobs are started.
    hold : callable
        Called with each started job, so that it can be stopped.

    Attributes
    ----------
    problems : list of Problem
        Why nothing was measured; valid after the events, and empty on success.
    entrant : str
        What :meth:`batch` recorded of the entrant.
    """

    def __init__(
        self, launcher: Launcher, incoming: IncomingMessages, client: Client, hold: Callable[[Job], None]
    ) -> None:
        self._launcher = launcher
        self._incoming = incoming
        self._client = client
        self._hold = hold
        self._measured = self._is_model = False
        self._programs: list[RecordedFunction] = []
        self._refusal = ""
        self._originals: dict[str, str] = {}
        self.problems: list[Problem] = []
        self.entrant = ""

    def events(
        self, what: What, workspace: Workspace, settings: SearchSettings | None = None, numpy: str = ""
    ) -> Generator[Event | MadeWay]:
        """Yield the events of the script's process, then those of the measuring processes.

        Parameters
        ----------
        settings : SearchSettings, optional
            How to search.
        numpy : str
            A trusted function of the inputs, to time as NumPy's.

        Raises
        ------
        Superseded
            If a job was cancelled.
        Unavailable
            If the sandbox cannot run anything.
        Busy
            If the memory budget is exhausted.
        """
        with self._incoming.budget.claim(0, self._client.address) as programs:
            self._is_model = settings is not None and settings.model
            if self._is_model:
                yield Progress(done=0, total=1, label="running the script to record its model")
            answer = yield from self._record(what, workspace, programs)
            for problem in answer.problems:
                yield Failed(label=label_of(problem), problem=problem)
            if self._programs:
                yield MeasuredBy(source="server")
            if self._programs and what == "record" and ORIGINAL in workspace.files:
                yield from self._record_original(workspace, programs)
            for program in self._programs if settings is None else ():
                yield from self._measure(program, workspace.options, what == "ladder", numpy)
            if settings is not None and self._programs:
                yield from self._search(self._programs[-1], workspace, settings)
            elif settings is not None and not answer.problems:
                reason = self._refusal or NOTHING[settings.model]
                yield Failed(label="search", problem=Problem(kind="NotSearched", message=reason))
        if not self._measured or answer.status not in ("ok", "error"):
            self.problems += answer.problems  # functions are measured even if the script fails afterwards

    def batch(
        self, definition: Workspace, entrant: Workspace | None, others: Sequence[str], numpy: str
    ) -> Generator[Event]:
        """Yield the events of a process that measures programs of one definition in turns.

        Parameters
        ----------
        definition : Workspace
            Whose last function defines what is computed.
        entrant : Workspace, optional
            Whose last function is measured first; :attr:`entrant` has what was recorded of it.
        others : sequence of str
            Recorded programs.
        numpy : str
            A trusted function of the inputs; empty for what follows from the definition.

        Raises
        ------
        InvalidBody
            If a workspace has no function that can be recorded.
        Superseded, Unavailable, Busy
            As for :meth:`events`.
        """
        with self._incoming.budget.claim(sum(map(len, others)), self._client.address) as programs:
            defined = yield from self._recorded(definition, programs)
            if entrant is not None:
                self.entrant = yield from self._recorded(entrant, programs)
            contenders = [*([self.entrant] if entrant is not None else []), *others]
            job = self._launcher.start_request(
                Request(mode="batch", program=defined, contenders=contenders, numpy=numpy)
            )
            with self._start(job, "server") as reader, closing(reader.events()) as events:
                yield from (event for event in events if isinstance(event, Measured | Failed | Progress))
                self.problems += reader.finish().problems

    def _recorded(self, workspace: Workspace, programs: Claim) -> Generator[Event, None, str]:
        self._programs.clear()
        answer = yield from self._record("record", workspace, programs)
        if not self._programs:
            reasons = [problem.message for problem in answer.problems]
            raise InvalidBody(f"it cannot be measured again: {[*reasons, 'it builds no function of a schedule'][0]}")
        return self._programs[-1].program

    def _start(self, job: Job, source: Source) -> AnswerReader:
        self._hold(job)
        return self._incoming.read(job, self._client.address, source)

    def _record(self, what: What, workspace: Workspace, programs: Claim) -> Generator[Event, None, StoredAnswer]:
        """Run the script, and keep the functions that could be serialized."""
        job = self._launcher.start("ladder" if what == "ladder" else "record", workspace)
        limit = 1 if what == "ladder" else MAX_PROGRAMS
        with self._start(job, "script") as reader, closing(reader.events()) as events:
            for event in events:
                match event:
                    case RecordedFunction(graph=graph) if self._is_model:
                        programs.grow(len(graph))
                        self._programs = [event] if graph else self._programs
                        if not graph and not event.program:
                            yield Failed(label=event.name, problem=Problem(kind="NotSearched", message=event.reason))
                    case RecordedFunction(program=""):
                        self._refusal = f"{event.name} is not searched: {event.reason}"
                        yield MeasuredBy(source="script", reason=f"{event.name}: {event.reason}")
                    case RecordedFunction() if len(self._programs) < limit:
                        programs.grow(len(event.program))
                        self._programs.append(event)
                    case Measured() | Failed() | Progress() if not self._programs:
                        self._measured |= isinstance(event, Measured)
                        yield event
            return reader.finish()

    def scrub(self, workspace: Workspace, variants: Sequence[Variant]) -> Generator[Event]:
        """Yield the events of recording the last function of each script, and of measuring all in turns in one process.

        Parameters
        ----------
        workspace : Workspace
            With what the scripts share.

        Raises
        ------
        Superseded, Unavailable, Busy
            As for :meth:`events`.
        """
        recorded: list[RecordedVariant] = []
        with self._incoming.budget.claim(0, self._client.address) as programs:
            for number, (value, script) in enumerate(variants):
                yield Progress(done=number, total=len(variants), label=f"running the script with {value}")
                made = self._variant(msgspec.structs.replace(workspace, script=script))
                if isinstance(made, Problem):
                    yield Failed(label=value, problem=made)
                else:
                    programs.grow(len(made))
                    recorded.append(RecordedVariant(label=value, program=made))
            if not recorded:
                return
            yield MeasuredBy(source="server")
            job = self._launcher.start_request(Request(mode="measure", variants=recorded, options=workspace.options))
            with self._start(job, "server") as reader, closing(reader.events()) as events:
                for event in events:
                    if isinstance(event, Measured | Failed | Progress):
                        self._measured |= isinstance(event, Measured)
                        yield event
                problems = reader.finish().problems
        if not self._measured:
            self.problems += problems

    def models(self, workspace: Workspace, places: Sequence[int]) -> Generator[Event]:
        """Yield the events of recording models of a script, and of measuring their kernels in turns in one process.

        Parameters
        ----------
        places : sequence of int
            Which of the models that it builds, counted from the last, which is -1.

        Raises
        ------
        Superseded, Unavailable, Busy
            As for :meth:`events`.
        """
        job = self._launcher.start("record", workspace)
        with self._start(job, "script") as reader, closing(reader.events()) as events:
            recorded = [event for event in events if isinstance(event, RecordedFunction)]
            problems = reader.finish().problems
        chosen = [recorded[at] for at in places if -len(recorded) <= at]
        refusal = next((each.reason for each in chosen if not each.graph), "") or NOTHING[True]
        if len(chosen) < len(places) or not all(each.graph for each in chosen):
            yield Failed(label="models", problem=problems[0] if problems else _unmeasured(refusal))
            return
        with self._incoming.budget.claim(sum(len(each.graph) for each in chosen), self._client.address):
            yield MeasuredBy(source="server")
            variants = [RecordedVariant(label=each.name[:400], program=each.graph) for each in chosen]
            job = self._launcher.start_request(Request(mode="measure", variants=variants, options=workspace.options))
            with self._start(job, "server") as reader, closing(reader.events()) as events:
                yield from (event for event in events if isinstance(event, ModelTimes | Failed | Progress))
                self.problems += reader.finish().problems

    def _variant(self, workspace: Workspace) -> str | Problem:
        """Return the text of the last function of a script, or why there is none."""
        job = self._launcher.start("record", workspace)
        last: RecordedFunction | None = None
        with self._start(job, "script") as reader, closing(reader.events()) as events:
            for event in events:
                last = event if isinstance(event, RecordedFunction) else last
            problems = reader.finish().problems
        # What a script that failed leaves behind is not what the value stands for.
        refused = next((problem for problem in problems if problem.severity == "error"), None)
        if refused is None and last is not None and last.program:
            return last.program
        reason = last.reason if last is not None else "the script makes no function"
        return refused or _unmeasured(reason)

    def _record_original(self, workspace: Workspace, programs: Claim) -> Generator[Event]:
        """Run the original script of the workspace's kernel, and keep its functions by name."""
        script = workspace.files[ORIGINAL].decode("utf-8", "replace")
        job = self._launcher.start("record", Workspace(script=script, options=workspace.options))
        with self._start(job, "script") as reader, closing(reader.events()) as events:
            for event in events:
                if isinstance(event, RecordedFunction) and len(self._originals) < MAX_PROGRAMS:
                    programs.grow(len(event.program))
                    self._originals[event.name] = event.program
            problems = reader.finish().problems
        for problem in problems:
            yield Failed(label=ORIGINAL, problem=problem)

    def _measure(self, recorded: RecordedFunction, options: Options, prefixes: bool, numpy: str) -> Generator[Event]:
        original = self._originals.get(recorded.name, "")
        if len(self._originals) == len(self._programs) == 1:  # whatever they are called
            (original,) = self._originals.values()
        request = Request(
            mode="measure", program=recorded.program, original=original, numpy=numpy, options=options, prefixes=prefixes
        )
        job = self._launcher.start_request(request)
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

    def _search(
        self, recorded: RecordedFunction, workspace: Workspace, settings: SearchSettings
    ) -> Generator[Event | MadeWay]:
        """Search, and go on from what was found where others made it stop."""
        log, left, is_first = workspace.files.get(LOG, b"")[:MAX_LOG], settings.seconds, True
        while True:
            settings, began = msgspec.structs.replace(settings, seconds=left), time.monotonic()
            program, options = recorded.program or recorded.graph, workspace.options
            job = self._launcher.start_request(
                Request(mode="search", program=program, options=options, search=settings, prefixes=is_first),
                Workspace(script="", options=options, files={LOG: log} if log else {}),
            )
            with self._start(job, "server") as reader, closing(reader.events()) as events:
                for event in events:
                    if isinstance(event, Measured | Failed | Progress | Tried | Searching | ModelSearch | Found):
                        self._measured |= isinstance(event, Measured | Tried)
                        yield event
                    if isinstance(event, Tried) and len(log) + len(event.record) < MAX_LOG:
                        log += event.record.encode() + b"\n"
                made_way, problems = reader.outcome().interrupted, reader.finish().problems
            left, is_first = left - (time.monotonic() - began), False
            if not made_way or left < LEAST_SECONDS:
                break
            yield MadeWay()
        for problem in problems:
            yield Failed(label=recorded.name, problem=problem)


def _unmeasured(reason: str) -> Problem:
    return Problem(kind="NotMeasured", message=reason)


def label_of(problem: Problem) -> str:
    """Return the label of a failure that belongs to no prefix of the schedule."""
    return f"line {problem.line}" if problem.line else "script"
