"""Reads the messages of a sandboxed child, which are untrusted and stay bytes until a worker decodes them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from types import TracebackType
from typing import Protocol, Self, TypeVar

import msgspec

from app.artifacts import Problem, Source
from app.built_files import PART, BuiltFile
from app.causes import Why
from app.counts import ENDS
from app.errors import Overrun, Superseded, TooLarge, Unavailable
from app.jobs.answers import StoredAnswer, attributed, refused
from app.jobs.callers import waiting
from app.logs import quoted, request_id
from app.machine_code import MAX_CODE_BYTES, MAX_PROGRAMS, MAX_SOURCE, CompiledKernels, CudaProgram, MachineCode
from app.memory import Budget
from app.proposals import Proposed
from app.protocol import Event, Failed, Measured, ProgramDefinition, RecordedFunction
from app.sandbox import Job, Outcome
from app.searches import CandidateTexts
from app.traces import TracedProgram
from app.webgpu import MAX_PREPARED_BYTES, GPUPrepared

log = logging.getLogger(__name__)
MAX_EVENT_BYTES = 64 << 10
"""The maximum size of a ladder event, which takes less than a millisecond to decode."""
MAX_RECORDED_BYTES = 2 << 20
"""The maximum size of a recorded program or trace, which consist of a few long strings."""
_SNAPSHOT = b'{"type":"snapshot"'
"""The prefix of a snapshot message."""
_PROGRAM = b'{"type":"cuda"'
"""The prefix of a CUDA C program message."""
_decode_program = msgspec.json.Decoder(CudaProgram).decode
_decode_event = msgspec.json.Decoder[Event](Event).decode
LongEvent = (
    RecordedFunction
    | Proposed
    | Why
    | BuiltFile
    | TracedProgram
    | GPUPrepared
    | ProgramDefinition
    | MachineCode
    | CandidateTexts
)
_LONG: list[tuple[bytes, int, Callable[[bytes], LongEvent]]] = [
    (b'{"type":"recorded"', MAX_RECORDED_BYTES, msgspec.json.Decoder(RecordedFunction).decode),
    (b'{"type":"proposed"', MAX_RECORDED_BYTES, msgspec.json.Decoder(Proposed).decode),
    (b'{"type":"why"', MAX_RECORDED_BYTES, msgspec.json.Decoder(Why).decode),
    (b'{"type":"file"', MAX_EVENT_BYTES, msgspec.json.Decoder(BuiltFile).decode),
    (b'{"type":"traced"', MAX_RECORDED_BYTES, msgspec.json.Decoder(TracedProgram).decode),
    (b'{"type":"webgpu"', MAX_PREPARED_BYTES, msgspec.json.Decoder(GPUPrepared).decode),
    (b'{"type":"candidate"', MAX_RECORDED_BYTES, msgspec.json.Decoder(CandidateTexts).decode),
    (b'{"type":"defined"', MAX_EVENT_BYTES, msgspec.json.Decoder(ProgramDefinition).decode),
    (b'{"type":"machine code"', MAX_CODE_BYTES, msgspec.json.Decoder(MachineCode).decode),
]
"""Messages of a few long strings: prefix, maximum size and decoder."""


E = TypeVar(
    "E", RecordedFunction, Proposed, Why, BuiltFile, TracedProgram, GPUPrepared, ProgramDefinition, CandidateTexts
)


class Assemble(Protocol):
    """Assembles the complete answer of a job from its messages."""

    def __call__(
        self,
        messages: Sequence[bytes],
        outcome: Outcome,
        source: Source,
        client: str,
        kernels: Sequence[CompiledKernels] = (),
    ) -> StoredAnswer:
        """Return the answer of a job by ``source`` on behalf of ``client``, with its compiled kernels."""


class AnswerReader:
    """Reads a job's messages within a memory budget; a context manager that releases them.

    Parameters
    ----------
    source : str
        The source with which measurements are labelled, whatever the child claims.
    client : str
        The client on whose behalf jobs are started.
    take_part : callable, optional
        Takes each part of a file, which is then not kept.

    Attributes
    ----------
    programs : list of CudaProgram
        The CUDA programs received so far.
    """

    def __init__(
        self,
        job: Job,
        source: Source,
        incoming: IncomingMessages,
        client: str,
        take_part: Callable[[bytes], None] | None = None,
    ) -> None:
        self._job = job
        self._take_part = take_part
        self._source: Source = source
        self._client = client
        self._assemble = incoming.assemble
        self._claim = incoming.budget.claim(0, client)
        self._request = request_id.get()
        self._ended = False
        self._messages: list[bytes] = []
        self.programs: list[CudaProgram] = []

    def messages(self) -> Generator[bytes]:
        """Yield the child's messages as they arrive, and keep them.

        Raises
        ------
        Busy
            If the memory budget is exhausted; the job was cancelled.
        """
        for raw in self._job.messages():
            if self._take_part is not None and raw.startswith(PART):
                self._take_part(raw)
                continue
            self._claim.grow(len(raw))
            if raw.startswith(_PROGRAM):
                self._take_program(raw)
                continue
            self._messages.append(raw)
            yield raw

    def _take_program(self, raw: bytes) -> None:
        """Keep a CUDA C program, unless it is malformed or there are too many."""
        if len(raw) > 2 * MAX_SOURCE or len(self.programs) >= MAX_PROGRAMS:
            return
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            self.programs.append(_decode_program(raw))

    def events(self) -> Generator[Event | LongEvent]:
        """Yield the events among the child's messages as they arrive, and keep all messages.

        Raises
        ------
        Busy
            If the memory budget is exhausted; the job was cancelled.
        """
        for raw in self.messages():
            event = None if raw.startswith(_SNAPSHOT) else _event(raw)
            if isinstance(event, Measured):
                yield Measured(measurement=attributed(event.measurement, self._source, self._job.machine))
            elif event is not None:
                if isinstance(event, GPUPrepared | MachineCode | BuiltFile):
                    self._messages.pop()  # long, and not part of the answer
                yield event

    def collect(self, kind: type[E]) -> tuple[list[E], list[Problem]]:
        """Read all messages, and cancel the job if the caller disconnects.

        Parameters
        ----------
        kind : type
            The class of events to return.

        Returns
        -------
        tuple of (list of kind, list of Problem)
            The events of that class, and the problems in order.

        Raises
        ------
        Busy
            If the memory budget is exhausted; the job was cancelled.
        Superseded
            If the job was cancelled.
        Unavailable
            If the sandbox could not be set up, or the machine of the job disappeared.
        """
        collected: list[E] = []
        problems: list[Problem] = []
        with waiting(self._job.cancel), closing(self.events()) as events:
            for event in events:
                if isinstance(event, kind):
                    collected.append(event)
                elif isinstance(event, Failed):
                    problems.append(event.problem)
        return collected, [*problems, *self.finish().problems]

    def outcome(self) -> Outcome:
        """Return the outcome of the job, after all messages have been read.

        Raises
        ------
        Superseded
            If the job was cancelled.
        Unavailable
            If the sandbox could not be set up, or the machine of the job disappeared.
        """
        outcome = msgspec.structs.replace(self._job.outcome, request=self._request)
        if not self._ended:
            self._ended = True
            ENDS.add(outcome.status)
            if outcome.status not in ("ok", "cancelled"):
                log.info("a script's process ended: %s, %s", outcome.status, quoted(outcome.detail))
        if outcome.status == "cancelled":
            raise Superseded("a newer request replaced this one")
        if outcome.status == "lost":
            raise Unavailable(f"{outcome.detail}; try again", retry_after=5)
        if outcome.status == "setup":
            raise Unavailable(f"the sandbox could not be set up: {outcome.detail}", retry_after=5)
        return outcome

    def finish(self, kernels: Sequence[CompiledKernels] = ()) -> StoredAnswer:
        """Return the complete answer, after all messages have been read.

        Parameters
        ----------
        kernels : sequence of CompiledKernels
            The compilation results of its programs.

        Raises
        ------
        Superseded
            If the job was cancelled.
        Unavailable
            If the sandbox could not be set up.
        """
        outcome = self.outcome()
        try:
            return self._assemble(self._messages, outcome, self._source, self._client, kernels)
        except (Overrun, TooLarge) as error:
            return refused(f"what the script made cannot be shown: {error.message}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._messages = []
        self._claim.release()


class IncomingMessages:
    """Processing of the messages of children.

    Parameters
    ----------
    budget : Budget
        The memory budget of messages.
    assemble : callable
        Assembles a complete answer from the messages of a job.
    """

    def __init__(self, budget: Budget, assemble: Assemble) -> None:
        self.budget = budget
        self.assemble = assemble

    def read(
        self, job: Job, client: str, source: Source = "script", take_part: Callable[[bytes], None] | None = None
    ) -> AnswerReader:
        """Create a reader of a job's messages.

        Parameters
        ----------
        client : str
            The client on whose behalf jobs are started.
        source : str
            The source of measurements.
        take_part : callable, optional
            Takes each part of a file.
        """
        return AnswerReader(job, source, self, client, take_part)


def _event(raw: bytes) -> Event | LongEvent | None:
    """Decode an event; None for malformed ones, which the complete answer reports."""
    long = [(limit, decode) for beginning, limit, decode in _LONG if raw.startswith(beginning)]
    limit, decode = long[0] if long else (MAX_EVENT_BYTES, _decode_event)
    if len(raw) > limit:
        return None
    try:
        return decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
