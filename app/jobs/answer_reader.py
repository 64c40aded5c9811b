"""Assembles an answer from the messages of a sandboxed child, each validated first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator

import msgspec

from app.artifacts import (
    Answer,
    Console,
    Drawing,
    Event,
    Listing,
    Measured,
    Measurement,
    Message,
    Problem,
    Recorded,
    Snapshot,
    Source,
    drawing_key,
    listing_key,
)
from app.errors import Superseded, Unavailable
from app.sandbox import Job, Outcome
from app.sandbox.handler import EXIT_DAMAGED, EXIT_RAISED

log = logging.getLogger(__name__)
_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)

MAX_LAST_LINE = 500
"""Characters of a traceback's last line that are shown."""
_DAMAGED = (
    "the script changed Python itself, or closed what its process writes to, so that the explorer could not go on; "
    "what was seen until then is shown"
)
_LEFT = "the script ended its own process before its end; what it did until then is shown"
Describe = Callable[[Outcome, int | None, str], Problem]


def _timeout(outcome: Outcome, line: int | None, who: str) -> Problem:
    where = f" while line {line} ran native code" if line else ""
    why = ", as others wait" if outcome.interrupted else ""
    message = f"{who} was stopped after {outcome.wall_seconds:.1f} s{where}{why}; what it did until then is shown"
    return Problem(kind="Timeout", message=message, line=line)


def _memory(outcome: Outcome, line: int | None, who: str) -> Problem:
    where = f" at line {line}" if line else ""
    message = f"{who} needed more memory than a run may have, and was stopped{where}"
    return Problem(kind="MemoryLimit", message=message, line=line)


def _output(outcome: Outcome, line: int | None, who: str) -> Problem:
    message = f"what {who} gave back was more than can be shown: {outcome.detail}"
    return Problem(kind="OutputLimit", message=message, line=line)


def _crash(outcome: Outcome, line: int | None, who: str) -> Problem:
    if outcome.exit_code == EXIT_DAMAGED:
        return Problem(kind="Crash", message=_DAMAGED, line=line)
    if outcome.exit_code == EXIT_RAISED:
        log.error("the recorder failed: %s", ascii(outcome.console))  # a script may have written it
        last = outcome.console.strip().rpartition("\n")[2][:MAX_LAST_LINE]
        return Problem(kind="InternalError", message=f"the explorer itself failed on {who}: {last}", line=line)
    where = f" in the native code that line {line} ran" if line else ""
    return Problem(kind="Crash", message=f"{who}'s process ended{where}: {outcome.detail}", line=line)


WHO: dict[Source, str] = {"script": "the script", "server": "the measurement"}
ENDS: dict[str, tuple[str, Describe]] = {
    "timeout": ("timeout", _timeout),
    "memory": ("limit", _memory),
    "output": ("limit", _output),
    "crash": ("crash", _crash),
}
"""Outcome of a failed job -> status of the answer, and the function that describes the problem."""


class AnswerReader:
    """Reads a job's messages: listings and drawings accumulate, of the rest the last snapshot counts.

    Parameters
    ----------
    job : Job
    source : str
        Who makes the measurements; every one is marked with it, whatever the child says.

    Attributes
    ----------
    size : int
        Bytes received.
    """

    def __init__(self, job: Job, source: Source = "script") -> None:
        self._job = job
        self._source: Source = source
        self._last = Answer()
        self._listings: dict[str, Listing] = {}
        self._drawings: dict[str, Drawing] = {}
        self._line: int | None = None
        self._invalid: str | None = None
        self.size = 0

    def events(self) -> Generator[Event | Recorded | Answer]:
        """Yield the child's events as they come; a snapshot as the answer so far."""
        for raw in self._job.messages():
            self.size += len(raw)
            try:
                message = _decoder.decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                self._invalid = str(error)
                continue
            if isinstance(message, Snapshot):
                self._take(message)
                yield self._last
            elif isinstance(message, Measured):
                yield Measured(measurement=self._marked(message.measurement))
            else:
                yield message

    def _take(self, snapshot: Snapshot) -> None:
        for key, listing in snapshot.answer.listings.items():
            if key != listing.key or key != listing_key(listing):
                self._invalid = f"a listing is not what its key {key!r} says"
                continue
            self._listings[key] = listing
        for key, drawing in snapshot.answer.drawings.items():
            if key != drawing.key or key != drawing_key(drawing) or not drawing.is_sound:
                self._invalid = f"a drawing is not what its key {key!r} says"
                continue
            self._drawings[key] = drawing
        self._line = snapshot.running_line
        self._last = msgspec.structs.replace(
            snapshot.answer,
            listings=dict(self._listings),
            drawings=dict(self._drawings),
            measurements=list(map(self._marked, snapshot.answer.measurements)),
        )

    def _marked(self, measurement: Measurement) -> Measurement:
        return msgspec.structs.replace(measurement, source=self._source)

    @property
    def running_line(self) -> int | None:
        """The script's line whose native code was about to run when the last snapshot was taken."""
        return self._line

    def answer(self) -> Answer:
        """Read to the end and return the complete answer.

        Raises
        ------
        Superseded
            If the job was cancelled.
        Unavailable
            If the sandbox could not be set up.
        """
        for _ in self.events():
            continue
        return self.finish()

    def finish(self) -> Answer:
        """Return the complete answer, once :meth:`events` is exhausted."""
        outcome = self._job.outcome
        if outcome.status == "cancelled":
            raise Superseded("a newer request took the place of this one")
        if outcome.status == "setup":
            raise Unavailable(f"the sandbox could not be set up: {outcome.detail}", retry_after=5)
        answer = self._last
        if outcome.console and outcome.exit_code != EXIT_RAISED:
            console = [*answer.console, Console("stdout", outcome.console)]
            answer = msgspec.structs.replace(answer, console=console)
        if self._invalid is not None:
            problem = Problem(kind="Crash", message=f"what the script's process sent is not an answer: {self._invalid}")
            return msgspec.structs.replace(answer, status="crash", problems=[*answer.problems, problem])
        if outcome.status == "ok" and not self.size:
            problem = Problem(kind="Crash", message="the script ended its own process: nothing of it can be shown")
            return msgspec.structs.replace(answer, status="crash", problems=[problem])
        if outcome.status == "ok" and self._line is not None:
            problem = Problem(kind="Crash", message=_LEFT, line=self._line)
            return msgspec.structs.replace(answer, status="crash", problems=[*answer.problems, problem])
        if outcome.status in ENDS and answer.status != "timeout":
            status, describe = ENDS[outcome.status]
            problems = [*answer.problems, describe(outcome, self._line, WHO[self._source])]
            answer = msgspec.structs.replace(answer, status=status, problems=problems)
        return answer
