"""Ladders: measurements of every prefix of a schedule, that go on while a page listens."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Generator
from typing import Literal

import msgspec

from app.answers import AnswerReader
from app.artifacts import Answer, Event, Failed, Measured, Problem, Workspace
from app.clients import Client
from app.compile_service import Starter
from app.errors import Busy, NotFound, RequestError, Superseded
from app.queue import Turn, Turns
from app.sandbox import Job

log = logging.getLogger(__name__)

KEPT = 256
"""Ladders that are remembered, running or not."""
PATIENCE_SECONDS = 30.0
"""How long a ladder goes on while nobody listens."""
POLL_SECONDS = 5.0
MOST_EVENTS = 5000
MOST_LISTENERS = 4


class Queued(msgspec.Struct, frozen=True, kw_only=True, tag="queued"):
    """Another measurement is running; ``place`` 1 is next."""

    place: int


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """The last event of a ladder."""

    status: Literal["ok", "error", "stopped"]
    message: str = ""


LadderEvent = Queued | Event | Ended


class Ladder:
    """One ladder: its events until now, and who listens."""

    def __init__(self) -> None:
        self.id = secrets.token_urlsafe(12)
        self._events: list[LadderEvent] = []
        self._news = threading.Condition()
        self._listeners = 0
        self._left = time.monotonic()
        self._turn: Turn | None = None
        self._job: Job | None = None
        self._stopped = False

    def tell(self, event: LadderEvent) -> None:
        """Add an event; whoever listens gets it."""
        with self._news:
            self._events.append(event)
            self._news.notify_all()

    @property
    def ended(self) -> bool:
        """Whether the last event was told."""
        with self._news:
            return bool(self._events) and isinstance(self._events[-1], Ended)

    def admit(self) -> None:
        """Refuse one more listener where there are enough; each of them keeps a thread.

        Raises
        ------
        Busy
            There are enough.
        """
        with self._news:
            if self._listeners >= MOST_LISTENERS:
                raise Busy(f"{MOST_LISTENERS} listen to this ladder already", retry_after=10)

    @property
    def forsaken(self) -> bool:
        """Whether it can stop: nobody has listened for a while, or it tells more than anybody wants."""
        with self._news:
            alone = self._listeners == 0 and time.monotonic() - self._left > PATIENCE_SECONDS
            return alone or len(self._events) > MOST_EVENTS

    def listen(self, after: int = 0, heartbeat_seconds: float = 10.0) -> Generator[tuple[int, LadderEvent] | None]:
        """Yield the events from number ``after`` on, each with the number that follows it, until the last one.

        None is yielded when nothing happened for ``heartbeat_seconds``.
        """
        with self._news:
            self._listeners += 1
        try:
            while True:
                with self._news:
                    if after >= len(self._events) and not self._news.wait(heartbeat_seconds):
                        event = None
                    elif after >= len(self._events):
                        continue
                    else:
                        event = self._events[after]
                if event is None:
                    yield None
                    continue
                after += 1
                yield after, event
                if isinstance(event, Ended):
                    return
        finally:
            with self._news:
                self._listeners -= 1
                self._left = time.monotonic()

    def stop(self) -> None:
        """Leave the queue, or kill the job."""
        with self._news:
            self._stopped = True
            turn, job = self._turn, self._job
        if turn is not None:
            turn.end()
        if job is not None:
            job.cancel()

    def hold(self, turn: Turn | None = None, job: Job | None = None) -> None:
        """Note what :meth:`stop` has to give back.

        Raises
        ------
        Superseded
            It was stopped already.
        """
        with self._news:
            self._turn = turn or self._turn
            self._job = job or self._job
            stopped = self._stopped
        if stopped:
            self.stop()
            raise Superseded("stopped")


class Ladders:
    """Starts, remembers and stops ladders.

    Parameters
    ----------
    starter : Starter
    measuring : Turns
        Who may measure; one at a time on a set of cores.
    """

    def __init__(self, starter: Starter, measuring: Turns) -> None:
        self._starter = starter
        self._measuring = measuring
        self._ladders: OrderedDict[str, Ladder] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, workspace: Workspace, client: Client) -> Ladder:
        """Put a ladder into the queue; it begins when its turn comes.

        Raises
        ------
        Busy
            Too many requests wait.
        """
        turn = self._measuring.enter(client.address)
        ladder = Ladder()
        ladder.hold(turn=turn)
        with self._lock:
            self._ladders[ladder.id] = ladder
            ended = [name for name, other in self._ladders.items() if other.ended]
            for name in ended[: max(0, len(self._ladders) - KEPT)]:
                del self._ladders[name]
        threading.Thread(target=self._climb, args=(ladder, turn, workspace), name="ladder", daemon=True).start()
        return ladder

    def get(self, name: str) -> Ladder:
        """Return a ladder.

        Raises
        ------
        NotFound
            There is none of that name, or it was forgotten.
        """
        with self._lock:
            ladder = self._ladders.get(name)
        if ladder is None:
            raise NotFound(f"there is no ladder {name!r}, or it ended long ago", field="ladder")
        return ladder

    def _climb(self, ladder: Ladder, turn: Turn, workspace: Workspace) -> None:
        try:
            ended = self._measure(ladder, turn, workspace)
        except Superseded:
            ended = Ended(status="stopped", message="the measurement was stopped")
        except RequestError as error:
            ended = Ended(status="error", message=error.message)
        except Exception:
            log.exception("a ladder failed")
            ended = Ended(status="error", message="something went wrong inside the explorer; it has been noted")
        finally:
            turn.end()
        ladder.tell(ended)

    def _measure(self, ladder: Ladder, turn: Turn, workspace: Workspace) -> Ended:
        last = 0
        for place in turn.places(POLL_SECONDS):
            if ladder.forsaken:
                raise Superseded("nobody listens")
            if place != last:
                ladder.tell(Queued(place=place))
            last = place
        job = self._starter.start("ladder", workspace)
        ladder.hold(job=job)
        reader, measured = AnswerReader(job), False
        for event in reader.events():
            if ladder.forsaken:
                job.cancel()
            if not isinstance(event, Answer):
                measured = measured or isinstance(event, Measured)
                ladder.tell(event)
        answer = reader.finished()
        for problem in answer.problems:
            ladder.tell(Failed(label=label_of(problem), problem=problem))
        if answer.problems and not (measured and answer.status == "error"):
            return Ended(status="error", message=answer.problems[-1].message)
        return Ended(status="ok")  # a schedule is measured although the script fails at something after it


def label_of(problem: Problem) -> str:
    """Return what a failure that belongs to no rung is called."""
    return f"line {problem.line}" if problem.line else "script"
