"""Ladders: measurements of every prefix of a schedule, while a page is listening."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Literal

import msgspec

from app.artifacts import Measurement, Workspace
from app.errors import Busy, NotFound, RequestError, Superseded, TooLarge
from app.jobs.answer_reader import IncomingMessages
from app.jobs.cache import content_key
from app.jobs.clients import Client
from app.jobs.fair_queue import FairQueue, Ticket
from app.jobs.launcher import Launcher
from app.jobs.measurer import MadeWay, Measurer, What
from app.jobs.shared_ladders import SharedLadders, State
from app.logs import reference, request_id
from app.memory import Budget
from app.protocol import Event, Measured
from app.sandbox import Job
from app.searches import SearchSettings
from app.store.workspace_limits import content_bytes

log = logging.getLogger(__name__)

MAX_LADDERS = 256
"""The maximum number of remembered ladders."""
PATIENCE_SECONDS = 30.0
"""How long a ladder continues without listeners."""
POLL_SECONDS = 5.0
MAX_EVENTS = 5000
MAX_EVENT_BYTES = 4 << 20
"""The maximum size of the events of a ladder."""
MAX_LISTENERS = 16
EVENT_BURST = 400
"""The number of events of a ladder without rate limit, more than a schedule of a hundred primitives has."""
EVENTS_PER_SECOND = 50
"""The rate limit of further events, each of which costs every listener and the event loop time."""


class Queued(msgspec.Struct, frozen=True, kw_only=True, tag="queued"):
    """The ladder is waiting; ``place`` 1 is next."""

    place: int


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """The last event of a ladder."""

    status: Literal["ok", "error", "stopped"]
    message: str = ""


LadderEvent = Queued | Event | Ended
Events = Callable[[Measurer], Generator[Event | MadeWay]]
_decode_measured = msgspec.json.Decoder(Measured).decode


@dataclass(frozen=True, slots=True)
class Entry:
    """A recorded event, encoded once for all listeners."""

    kind: str
    data: bytes
    """The event as JSON."""


class Ladder:
    """A ladder, with its events so far and its listeners.

    Parameters
    ----------
    workspace : bytes
        The hash of the measured workspace.
    name : str, optional
        The name of another server's ladder, if this is a copy.
    """

    def __init__(self, workspace: bytes = b"", name: str | None = None) -> None:
        self.id = name or secrets.token_urlsafe(12)
        self.workspace = workspace
        self._entries: list[Entry] = []
        self._bytes = 0
        self._lock = threading.RLock()
        self._listeners: dict[object, Callable[[], None]] = {}
        self._last_listened = time.monotonic()
        self._ticket: Ticket | None = None
        self._job: Job | None = None
        self._stopped = False
        self._ended = False

    def send(self, event: LadderEvent) -> None:
        """Add an event and wake the listeners.

        Raises
        ------
        TooLarge
            If there are too many events, or they are too large.
        """
        entry = Entry(event.__struct_config__.tag, msgspec.json.encode(event))  # type: ignore[arg-type]
        with self._lock:
            ends = isinstance(event, Ended)
            if not ends and len(self._entries) >= MAX_EVENTS:
                raise TooLarge(f"the measurement sent more than {MAX_EVENTS:,} events")
            if not ends and self._bytes + len(entry.data) > MAX_EVENT_BYTES:
                raise TooLarge(f"the measurement sent more than {MAX_EVENT_BYTES:,} bytes of events")
            self._entries.append(entry)
            self._bytes += len(entry.data)
            self._ended = ends
            listeners = list(self._listeners.values())
        for wake in listeners:
            wake()

    @property
    def ticket(self) -> Ticket:
        """Its place in the queue."""
        with self._lock:
            assert self._ticket is not None, "a copy of another server's ladder has none"
            return self._ticket

    def state(self, beat: int) -> State:
        """Return the state that other servers see."""
        with self._lock:
            entries = [(entry.kind, entry.data) for entry in self._entries]
            return State(workspace=self.workspace, entries=entries, ended=self._ended, beat=beat)

    def update(self, state: State) -> None:
        """Take new events from another server's ladder."""
        with self._lock:
            for kind, data in state.entries[len(self._entries) :]:
                self._entries.append(Entry(kind, data))
                self._bytes += len(data)
            self._ended = state.ended
            listeners = list(self._listeners.values())
        for wake in listeners:
            wake()

    def give_up(self) -> None:
        """End the copy of a ladder whose server has disappeared."""
        self.send(Ended(status="stopped", message="the server that measured has gone"))

    @property
    def listened(self) -> bool:
        """Whether there are listeners."""
        with self._lock:
            return bool(self._listeners)

    def heard(self) -> None:
        """Record that there are listeners on another server."""
        with self._lock:
            self._last_listened = time.monotonic()

    @property
    def stopped(self) -> bool:
        """Whether it was stopped."""
        with self._lock:
            return self._stopped

    @property
    def ended(self) -> bool:
        """Whether the last event was sent."""
        with self._lock:
            return self._ended

    @property
    def size(self) -> int:
        """The size of the events so far."""
        with self._lock:
            return self._bytes

    def admit(self) -> None:
        """Check that another listener is allowed.

        Raises
        ------
        Busy
            If there are :data:`MAX_LISTENERS` already.
        """
        with self._lock:
            if len(self._listeners) >= MAX_LISTENERS:
                raise Busy(f"{MAX_LISTENERS} listen to this ladder already", retry_after=10)

    @property
    def abandoned(self) -> bool:
        """Whether it may be stopped for lack of listeners."""
        with self._lock:
            return not self._listeners and time.monotonic() - self._last_listened > PATIENCE_SECONDS

    def listen(self, listener: object, wake: Callable[[], None]) -> None:
        """Call ``wake``, in any thread, after each event, until ``listener`` leaves."""
        with self._lock:
            self._listeners[listener] = wake

    def leave(self, listener: object) -> None:
        """Remove a listener; idempotent."""
        with self._lock:
            if self._listeners.pop(listener, None) is not None:
                self._last_listened = time.monotonic()

    def entry(self, index: int) -> Entry | None:
        """Return the event with an index, or None if it has not happened yet."""
        with self._lock:
            return self._entries[index] if index < len(self._entries) else None

    @property
    def measurements(self) -> list[Measurement]:
        """The measurements of the server so far, without those that the script reported."""
        with self._lock:
            encoded = [entry.data for entry in self._entries if entry.kind == "measured"]
        measurements = [_decode_measured(data).measurement for data in encoded]
        return [measurement for measurement in measurements if measurement.source == "server"]

    def over(self, index: int) -> bool:
        """Whether there will be no event with this index or a later one."""
        with self._lock:
            return self._ended and index >= len(self._entries)

    def stop(self) -> None:
        """Leave the queue, or kill the job."""
        with self._lock:
            self._stopped = True
            ticket, job = self._ticket, self._job
        if ticket is not None:
            ticket.end()
        if job is not None:
            job.cancel()

    def hold(self, ticket: Ticket | None = None, job: Job | None = None) -> None:
        """Register a resource that :meth:`stop` releases.

        Raises
        ------
        Superseded
            If it was already stopped.
        """
        with self._lock:
            self._ticket = ticket or self._ticket
            self._job = job or self._job
            stopped = self._stopped
        if stopped:
            self.stop()
            raise Superseded("stopped")


class Ladders:
    """Manages ladders.

    Parameters
    ----------
    measuring : FairQueue
        The queue of measurements, of which one runs at a time.
    incoming : IncomingMessages
        Processes the messages of children.
    workspaces : Budget
        The budget of the workspaces of ladders in progress.
    events_bytes : int
        The maximum size of the events of all ladders; those that ended first are forgotten first.
    shared : SharedLadders, optional
        The ladders of other servers.
    """

    def __init__(
        self,
        launcher: Launcher,
        measuring: FairQueue,
        incoming: IncomingMessages,
        workspaces: Budget,
        events_bytes: int,
        shared: SharedLadders | None = None,
    ) -> None:
        self._shared = shared
        self._workspaces = workspaces
        self._events_bytes = events_bytes
        self._launcher = launcher
        self._measuring = measuring
        self._incoming = incoming
        self._ladders: OrderedDict[str, Ladder] = OrderedDict()
        self._lock = threading.Lock()

    def start(
        self,
        workspace: Workspace,
        client: Client,
        what: What = "ladder",
        settings: SearchSettings | None = None,
        numpy: str = "",
    ) -> Ladder:
        """Enqueue the measurement of a schedule's prefixes or a script's functions, or a search.

        Parameters
        ----------
        settings : SearchSettings, optional
            How to search, if ``what`` is ``search``.
        numpy : str
            A trusted function of the inputs, to time as NumPy's.

        Raises
        ------
        Busy, RequestError
            As for :meth:`begin`.
        """
        return self.begin(what, workspace, client, lambda measurer: measurer.events(what, workspace, settings, numpy))

    def begin(self, what: What, workspace: Workspace, client: Client, events: Events) -> Ladder:
        """Enqueue measurements.

        Parameters
        ----------
        workspace : Workspace
            What is measured, by which the measurements are known.
        events : callable
            Measures, given a measurer, and returns the events.

        Raises
        ------
        Busy
            If too many requests are waiting, or their files are too large in total.
        RequestError
            If the files of the workspace are rejected; see :meth:`~app.jobs.launcher.Launcher.check`.
        """
        self._launcher.check(workspace)
        claim = self._workspaces.claim(content_bytes(workspace), client.address)
        try:
            ticket = self._measuring.enter(client.address)
        except Busy:
            claim.release()
            raise
        # A scrub is no measurement of the workspace itself.
        ladder = Ladder(b"" if what == "scrub" else content_key(what, workspace))
        ladder.hold(ticket=ticket)
        self._remember(ladder)
        if self._shared is not None:
            self._shared.publish(ladder)
        measurer = Measurer(self._launcher, self._incoming, client, partial(_hold, ladder))
        request = request_id.get()

        def work() -> None:
            request_id.set(request)  # of a thread of its own
            with claim:
                self._climb(ladder, client, measurer, events)

        threading.Thread(target=work, name="ladder", daemon=True).start()
        return ladder

    def get(self, name: str) -> Ladder:
        """Return a ladder.

        Raises
        ------
        NotFound
            If there is no such ladder, or it is no longer remembered.
        """
        with self._lock:
            ladder = self._ladders.get(name)
        if ladder is None:
            ladder = self._find_shared(name)
        if ladder is None:
            raise NotFound(f"there is no ladder {name!r}, or it ended long ago", field="ladder")
        return ladder

    def _find_shared(self, name: str) -> Ladder | None:
        """Return a copy of another server's ladder, which is kept up to date."""
        state = self._shared.find(name) if self._shared is not None else None
        if self._shared is None or state is None:
            return None
        ladder = Ladder(state.workspace, name)
        ladder.update(state)
        self._remember(ladder)
        if not state.ended:
            self._shared.follow(ladder)
        return ladder

    def _remember(self, ladder: Ladder) -> None:
        with self._lock:
            self._ladders[ladder.id] = ladder
            self._forget_ended()

    def _forget_ended(self) -> None:
        """Forget the ladders that ended first, to stay within the limits."""
        size = sum(ladder.size for ladder in self._ladders.values())
        for name, ladder in list(self._ladders.items()):
            if len(self._ladders) <= MAX_LADDERS and size <= self._events_bytes:
                return
            if ladder.ended:
                size -= ladder.size
                del self._ladders[name]

    def _climb(self, ladder: Ladder, client: Client, measurer: Measurer, start: Events) -> None:
        try:
            ended = self._measure(ladder, client, measurer, start)
        except Superseded:
            ended = Ended(status="stopped", message="the measurement was stopped")
        except RequestError as error:
            ended = Ended(status="error", message=error.message)
        except Exception:
            log.exception("a ladder failed")
            ended = Ended(status="error", message=f"an internal error occurred; it has been logged{reference()}")
        finally:
            ladder.ticket.end()
        ladder.send(ended)
        with self._lock:
            self._forget_ended()

    def _wait(self, ladder: Ladder) -> None:
        last = 0
        for place in ladder.ticket.places(POLL_SECONDS):
            if ladder.abandoned:
                raise Superseded("no client is listening")
            if place != last:
                ladder.send(Queued(place=place))
            last = place

    def _measure(self, ladder: Ladder, client: Client, measurer: Measurer, start: Events) -> Ended:
        self._wait(ladder)
        with closing(start(measurer)) as events:
            for count, event in enumerate(events):
                if ladder.abandoned:
                    ladder.stop()
                if isinstance(event, MadeWay):
                    ladder.ticket.end()
                    ladder.hold(ticket=self._measuring.enter(client.address))
                    self._wait(ladder)
                    continue
                if count >= EVENT_BURST:
                    time.sleep(1 / EVENTS_PER_SECOND)
                try:
                    ladder.send(event)
                except TooLarge:
                    ladder.stop()
                    raise
        if measurer.problems:
            return Ended(status="error", message=measurer.problems[-1].message)
        return Ended(status="ok")


def _hold(ladder: Ladder, job: Job) -> None:
    """Register a job to be stopped with its ladder, or when its slot is reclaimed."""
    ladder.ticket.when_asked(job.interrupt)
    ladder.hold(job=job)
