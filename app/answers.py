"""One answer out of the messages of a child, none of which is believed before it is checked."""

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
    Message,
    Problem,
    Snapshot,
    drawing_key,
    listing_key,
)
from app.errors import Superseded, Unavailable
from app.sandbox import Job, Outcome
from app.sandbox.handler import EXIT_RAISED

log = logging.getLogger(__name__)
_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)

Tell = Callable[[Outcome, int | None], Problem]


def _timeout(outcome: Outcome, line: int | None) -> Problem:
    where = f" while line {line} ran native code" if line else ""
    message = f"the script was stopped after {outcome.wall_seconds:.1f} s{where}; what it did until then is shown"
    return Problem(kind="Timeout", message=message, line=line)


def _memory(outcome: Outcome, line: int | None) -> Problem:
    where = f" at line {line}" if line else ""
    message = f"the script needed more memory than a run may have, and was stopped{where}"
    return Problem(kind="MemoryLimit", message=message, line=line)


def _output(outcome: Outcome, line: int | None) -> Problem:
    message = f"what the script gave back was more than can be shown: {outcome.detail}"
    return Problem(kind="OutputLimit", message=message, line=line)


def _crash(outcome: Outcome, line: int | None) -> Problem:
    if outcome.exit_code == EXIT_RAISED:
        log.error("the recorder failed: %s", outcome.console)
        last = outcome.console.strip().rpartition("\n")[2]
        return Problem(kind="InternalError", message=f"the explorer itself failed on this script: {last}", line=line)
    where = f" in the native code that line {line} ran" if line else ""
    return Problem(kind="Crash", message=f"the script's process ended{where}: {outcome.detail}", line=line)


ENDS: dict[str, tuple[str, Tell]] = {
    "timeout": ("timeout", _timeout),
    "memory": ("limit", _memory),
    "output": ("limit", _output),
    "crash": ("crash", _crash),
}
"""How a job ended badly: the status of the answer, and what is said about it."""


class AnswerReader:
    """Reads a job's messages: listings add up, of the rest the last snapshot counts.

    Attributes
    ----------
    size : int
        Bytes that came.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._last = Answer()
        self._listings: dict[str, Listing] = {}
        self._drawings: dict[str, Drawing] = {}
        self._line: int | None = None
        self._forged: str | None = None
        self.size = 0

    def events(self) -> Generator[Event | Answer]:
        """Yield what the child tells as it comes; a snapshot as the answer that it makes until then."""
        for raw in self._job.messages():
            self.size += len(raw)
            try:
                message = _decoder.decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                self._forged = str(error)
                continue
            if isinstance(message, Snapshot):
                self._take(message)
                yield self._last
            else:
                yield message

    def _take(self, snapshot: Snapshot) -> None:
        for key, listing in snapshot.answer.listings.items():
            if key != listing.key or key != listing_key(listing):
                self._forged = f"a listing is not what its key {key!r} says"
                continue
            self._listings[key] = listing
        for key, drawing in snapshot.answer.drawings.items():
            if key != drawing.key or key != drawing_key(drawing) or not drawing.is_sound:
                self._forged = f"a drawing is not what its key {key!r} says"
                continue
            self._drawings[key] = drawing
        self._line = snapshot.running_line
        self._last = msgspec.structs.replace(
            snapshot.answer, listings=dict(self._listings), drawings=dict(self._drawings)
        )

    @property
    def running_line(self) -> int | None:
        """The script's line whose native code was about to run when the last snapshot was taken."""
        return self._line

    def answer(self) -> Answer:
        """Read to the end and return the whole.

        Raises
        ------
        Superseded
            If somebody cancelled the job.
        Unavailable
            If the walls around the script could not be built.
        """
        for _ in self.events():
            continue
        return self.finished()

    def finished(self) -> Answer:
        """Return the whole, once :meth:`events` came to its end."""
        outcome = self._job.outcome
        if outcome.status == "cancelled":
            raise Superseded("a newer request took the place of this one")
        if outcome.status == "setup":
            raise Unavailable(f"the sandbox could not be set up: {outcome.detail}", retry_after=5)
        answer = self._last
        if outcome.console and outcome.exit_code != EXIT_RAISED:
            console = [*answer.console, Console("stdout", outcome.console)]
            answer = msgspec.structs.replace(answer, console=console)
        if self._forged is not None:
            problem = Problem(kind="Crash", message=f"what the script's process sent is not an answer: {self._forged}")
            return msgspec.structs.replace(answer, status="crash", problems=[*answer.problems, problem])
        if outcome.status == "ok" and not self.size:
            problem = Problem(kind="Crash", message="the script ended its own process: nothing of it can be shown")
            return msgspec.structs.replace(answer, status="crash", problems=[problem])
        if outcome.status in ENDS and answer.status != "timeout":
            status, tell = ENDS[outcome.status]
            problems = [*answer.problems, tell(outcome, self._line)]
            answer = msgspec.structs.replace(answer, status=status, problems=problems)
        return answer
