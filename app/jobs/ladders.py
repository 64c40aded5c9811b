"""Ladders: measurements of every prefix of a schedule, which run while a page listens."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Generator
from contextlib import closing
from functools import partial
from typing import Literal

import msgspec

from app.artifacts import Event, Workspace
from app.errors import Busy, NotFound, RequestError, Superseded
from app.jobs.answer_reader import Incoming
from app.jobs.clients import Client
from app.jobs.fair_queue import FairQueue, Ticket
from app.jobs.launcher import Launcher
from app.jobs.measurer import Measurer, What
from app.sandbox import Job

log = logging.getLogger(__name__)

MAX_LADDERS = 256
"""Ladders that are remembered, running or not."""
PATIENCE_SECONDS = 30.0
"""How long a ladder goes on while nobody listens."""
POLL_SECONDS = 5.0
MAX_EVENTS = 5000
MAX_LISTENERS = 4


class Queued(msgspec.Struct, frozen=True, kw_only=True, tag="queued"):
    """Another measurement is running; ``place`` 1 is next."""

    place: int


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """The last event of a ladder."""

    status: Literal["ok", "error", "stopped"]
    message: str = ""


LadderEvent = Queued | Event | Ended


class Ladder:
    """One ladder: its events until now, and how many clients listen."""

    def __init__(self) -> None:
        self.id = secrets.token_urlsafe(12)
        self._events: list[LadderEvent] = []
        self._news = threading.Condition()
        self._listeners = 0
        self._last_listened = time.monotonic()
        self._ticket: Ticket | None = None
        self._job: Job | None = None
        self._stopped = False

    def send(self, event: LadderEvent) -> None:
        """Add an event and wake the listeners."""
        with self._news:
            self._events.append(event)
            self._news.notify_all()

    @property
    def ended(self) -> bool:
        """Whether the last event was sent."""
        with self._news:
            return bool(self._events) and isinstance(self._events[-1], Ended)

    def admit(self) -> None:
        """Refuse a listener beyond :data:`MAX_LISTENERS`; each of them occupies a thread.

        Raises
        ------
        Busy
            That many listen already.
        """
        with self._news:
            if self._listeners >= MAX_LISTENERS:
                raise Busy(f"{MAX_LISTENERS} listen to this ladder already", retry_after=10)

    @property
    def abandoned(self) -> bool:
        """Whether it may be stopped: nobody has listened for a while, or it sent too many events."""
        with self._news:
            alone = self._listeners == 0 and time.monotonic() - self._last_listened > PATIENCE_SECONDS
            return alone or len(self._events) > MAX_EVENTS

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
                self._last_listened = time.monotonic()

    def stop(self) -> None:
        """Leave the queue, or kill the job."""
        with self._news:
            self._stopped = True
            ticket, job = self._ticket, self._job
        if ticket is not None:
            ticket.end()
        if job is not None:
            job.cancel()

    def hold(self, ticket: Ticket | None = None, job: Job | None = None) -> None:
        """Note what :meth:`stop` has to release.

        Raises
        ------
        Superseded
            It was stopped already.
        """
        with self._news:
            self._ticket = ticket or self._ticket
            self._job = job or self._job
            stopped = self._stopped
        if stopped:
            self.stop()
            raise Superseded("stopped")


class Ladders:
    """Starts, remembers and stops ladders.

    Parameters
    ----------
    launcher : Launcher
    measuring : FairQueue
        Queue of measurements; one runs at a time.
    incoming : Incoming
        What is done with the messages of children.
    """

    def __init__(self, launcher: Launcher, measuring: FairQueue, incoming: Incoming) -> None:
        self._launcher = launcher
        self._measuring = measuring
        self._incoming = incoming
        self._ladders: OrderedDict[str, Ladder] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, workspace: Workspace, client: Client, what: What = "ladder") -> Ladder:
        """Queue the measurement of a schedule's prefixes, or of a script's functions; it begins when it has a slot.

        Raises
        ------
        Busy
            Too many requests are waiting.
        RequestError
            The files of the workspace are refused; see :meth:`~app.jobs.launcher.Launcher.check`.
        """
        self._launcher.check(workspace)
        ticket = self._measuring.enter(client.address)
        ladder = Ladder()
        ladder.hold(ticket=ticket)
        with self._lock:
            self._ladders[ladder.id] = ladder
            ended = [name for name, other in self._ladders.items() if other.ended]
            for name in ended[: max(0, len(self._ladders) - MAX_LADDERS)]:
                del self._ladders[name]
        measurer = Measurer(self._launcher, self._incoming, client, partial(_hold, ladder, ticket))
        work = (ladder, ticket, measurer, what, workspace)
        threading.Thread(target=self._climb, args=work, name="ladder", daemon=True).start()
        return ladder

    def get(self, name: str) -> Ladder:
        """Return a ladder.

        Raises
        ------
        NotFound
            No ladder has that name, or it is no longer remembered.
        """
        with self._lock:
            ladder = self._ladders.get(name)
        if ladder is None:
            raise NotFound(f"there is no ladder {name!r}, or it ended long ago", field="ladder")
        return ladder

    def _climb(self, ladder: Ladder, ticket: Ticket, measurer: Measurer, what: What, workspace: Workspace) -> None:
        try:
            ended = self._measure(ladder, ticket, measurer, what, workspace)
        except Superseded:
            ended = Ended(status="stopped", message="the measurement was stopped")
        except RequestError as error:
            ended = Ended(status="error", message=error.message)
        except Exception:
            log.exception("a ladder failed")
            ended = Ended(status="error", message="something went wrong inside the explorer; it has been noted")
        finally:
            ticket.end()
        ladder.send(ended)

    def _measure(self, ladder: Ladder, ticket: Ticket, measurer: Measurer, what: What, workspace: Workspace) -> Ended:
        last = 0
        for place in ticket.places(POLL_SECONDS):
            if ladder.abandoned:
                raise Superseded("nobody listens")
            if place != last:
                ladder.send(Queued(place=place))
            last = place
        with closing(measurer.events(what, workspace)) as events:
            for event in events:
                if ladder.abandoned:
                    ladder.stop()
                ladder.send(event)
        if measurer.problems:
            return Ended(status="error", message=measurer.problems[-1].message)
        return Ended(status="ok")


def _hold(ladder: Ladder, ticket: Ticket, job: Job) -> None:
    """Let a job be stopped with its ladder, and when others wait."""
    ticket.when_asked(job.interrupt)
    ladder.hold(job=job)
