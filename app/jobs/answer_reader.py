"""Reads the messages of a sandboxed child, which are untrusted and stay bytes until a worker decodes them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from types import TracebackType
from typing import Protocol, Self, TypeVar

import msgspec

from app.artifacts import Event, Failed, Measured, Problem, Recorded, Source
from app.built_files import PART, BuiltFile
from app.errors import Overrun, Superseded, TooLarge, Unavailable
from app.jobs.answers import StoredAnswer, attributed, refused
from app.jobs.callers import waiting
from app.machine_code import (
    MAX_CODE_BYTES,
    MAX_PROGRAMS,
    MAX_SOURCE,
    CompiledKernels,
    CudaProgram,
    MachineCode,
)
from app.memory import Budget
from app.proposals import Proposed
from app.sandbox import Job, Outcome
from app.traces import Traced
from app.webgpu import MAX_PREPARED_BYTES, GPUPrepared

MAX_EVENT_BYTES = 64 << 10
"""Size of an event of a ladder: decoding that many bytes takes less than a millisecond."""
MAX_RECORDED_BYTES = 2 << 20
"""Size of a recorded program or of a trace, which are a few long strings."""
_SNAPSHOT = b'{"type":"snapshot"'
"""How a snapshot begins."""
_PROGRAM = b'{"type":"cuda"'
"""How a program in CUDA C begins."""
_decode_program = msgspec.json.Decoder(CudaProgram).decode
_decode_event = msgspec.json.Decoder[Event](Event).decode
LongEvent = Recorded | Proposed | BuiltFile | Traced | GPUPrepared | MachineCode
_LONG: list[tuple[bytes, int, Callable[[bytes], LongEvent]]] = [
    (b'{"type":"recorded"', MAX_RECORDED_BYTES, msgspec.json.Decoder(Recorded).decode),
    (b'{"type":"proposed"', MAX_RECORDED_BYTES, msgspec.json.Decoder(Proposed).decode),
    (b'{"type":"file"', MAX_EVENT_BYTES, msgspec.json.Decoder(BuiltFile).decode),
    (b'{"type":"traced"', MAX_RECORDED_BYTES, msgspec.json.Decoder(Traced).decode),
    (b'{"type":"webgpu"', MAX_PREPARED_BYTES, msgspec.json.Decoder(GPUPrepared).decode),
    (b'{"type":"machine code"', MAX_CODE_BYTES, msgspec.json.Decoder(MachineCode).decode),
]
"""Messages that hold a few long strings: how each begins, how large it may be, and what decodes it."""


E = TypeVar("E", Recorded, Proposed, BuiltFile, Traced, GPUPrepared)


class Assemble(Protocol):
    """Makes the complete answer of a job from its messages."""

    def __call__(
        self,
        messages: Sequence[bytes],
        outcome: Outcome,
        source: Source,
        client: str,
        kernels: Sequence[CompiledKernels] = (),
    ) -> StoredAnswer:
        """Return the answer of what ``source`` made on behalf of ``client``, and of its compiled kernels."""


class AnswerReader:
    """Reads a job's messages, each claimed before it is kept; a context manager that releases them.

    Parameters
    ----------
    job : Job
    source : str
        Who makes the measurements; every one is marked with it, whatever the child says.
    incoming : Incoming
    client : str
        Whom it is done for.
    take_part : callable, optional
        Takes each part of a file, which is then not kept here.

    Attributes
    ----------
    programs : list of CudaProgram
        What the child printed for CUDA, as far as it was read.
    """

    def __init__(
        self,
        job: Job,
        source: Source,
        incoming: Incoming,
        client: str,
        take_part: Callable[[bytes], None] | None = None,
    ) -> None:
        self._job = job
        self._take_part = take_part
        self._source: Source = source
        self._client = client
        self._assemble = incoming.assemble
        self._claim = incoming.budget.claim(0, client)
        self._messages: list[bytes] = []
        self.programs: list[CudaProgram] = []

    def messages(self) -> Generator[bytes]:
        """Yield the child's messages as they come, and keep them.

        Raises
        ------
        Busy
            There is no room for more, and the job was cancelled.
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
        """Keep a program in CUDA C; one that is none, or one too many, is left out."""
        if len(raw) > 2 * MAX_SOURCE or len(self.programs) >= MAX_PROGRAMS:
            return
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            self.programs.append(_decode_program(raw))

    def events(self) -> Generator[Event | LongEvent]:
        """Yield the events among the child's messages as they come, and keep all messages.

        Raises
        ------
        Busy
            There is no room for more, and the job was cancelled.
        """
        for raw in self.messages():
            event = None if raw.startswith(_SNAPSHOT) else _event(raw)
            if isinstance(event, Measured):
                yield Measured(measurement=attributed(event.measurement, self._source, self._job.machine))
            elif event is not None:
                if isinstance(event, GPUPrepared | MachineCode | BuiltFile):
                    self._messages.pop()  # it is long, and no part of the answer
                yield event

    def collect(self, kind: type[E]) -> tuple[list[E], list[Problem]]:
        """Read all messages, and give up the job if the caller goes.

        Parameters
        ----------
        kind : type
            Class of the events to return.

        Returns
        -------
        tuple of (list of kind, list of Problem)
            The events of that class, and what went wrong, the first problem first.

        Raises
        ------
        Busy
            There is no room for more, and the job was cancelled.
        Superseded
            The job was cancelled.
        Unavailable
            The sandbox could not be set up, or the machine of the job went away.
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
        """Return how the job ended, once the messages were read to the end.

        Raises
        ------
        Superseded
            The job was cancelled.
        Unavailable
            The sandbox could not be set up, or the machine of the job went away.
        """
        outcome = self._job.outcome
        if outcome.status == "cancelled":
            raise Superseded("a newer request replaced this one")
        if outcome.status == "lost":
            raise Unavailable(f"{outcome.detail}; try again", retry_after=5)
        if outcome.status == "setup":
            raise Unavailable(f"the sandbox could not be set up: {outcome.detail}", retry_after=5)
        return outcome

    def finish(self, kernels: Sequence[CompiledKernels] = ()) -> StoredAnswer:
        """Return the complete answer, once the messages were read to the end.

        Parameters
        ----------
        kernels : sequence of CompiledKernels
            What was made of its programs.

        Raises
        ------
        Superseded
            The job was cancelled.
        Unavailable
            The sandbox could not be set up.
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


class Incoming:
    """What is done with the messages of children.

    Parameters
    ----------
    budget : Budget
        Bytes of messages that may be held at one time.
    assemble : callable
        Makes a complete answer from the messages of a job.
    """

    def __init__(self, budget: Budget, assemble: Assemble) -> None:
        self.budget = budget
        self.assemble = assemble

    def read(
        self,
        job: Job,
        client: str,
        source: Source = "script",
        take_part: Callable[[bytes], None] | None = None,
    ) -> AnswerReader:
        """Return a reader of a job's messages.

        Parameters
        ----------
        job : Job
        client : str
            Whom it is done for.
        source : str
            Who makes the measurements.
        take_part : callable, optional
            Takes each part of a file.
        """
        return AnswerReader(job, source, self, client, take_part)


def _event(raw: bytes) -> Event | LongEvent | None:
    """Return the event of a message; None for one that is none, of which the complete answer says what is wrong."""
    long = [(limit, decode) for beginning, limit, decode in _LONG if raw.startswith(beginning)]
    limit, decode = long[0] if long else (MAX_EVENT_BYTES, _decode_event)
    if len(raw) > limit:
        return None
    try:
        return decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
