"""Compiles and runs workspaces: from the cache, else through the queue and in the sandbox."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from app.artifacts import Answer, Workspace
from app.errors import Superseded
from app.jobs.answer_reader import AnswerReader
from app.jobs.cache import AnswerCache, content_key
from app.jobs.clients import Client
from app.jobs.fair_queue import FairQueue, Ticket
from app.jobs.launcher import Launcher
from app.jobs.single_flight import SingleFlight
from app.sandbox import Job

HEARTBEAT_SECONDS = 3.0
MAX_TABS = 4096
CACHED = frozenset({"ok", "error"})
"""Statuses of answers that are cached; a run that was stopped may get further the next time."""


@dataclass(slots=True)
class _Pending:
    """The newest request of a tab."""

    seq: int
    ticket: Ticket | None = None
    job: Job | None = None

    def abandon(self) -> None:
        if self.ticket is not None:
            self.ticket.end()
        if self.job is not None:
            self.job.cancel()


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """How far a run has come."""

    place: int = 0
    """Place in the queue; 0 once it runs."""
    answer: Answer | None = None
    """What was recorded until now."""
    line: int | None = None
    """The script's line that runs native code now."""
    finished: bool = False


def _updates(reader: AnswerReader) -> Iterator[RunUpdate]:
    """Yield an update at each snapshot, and the last one again as a heartbeat."""
    news: SimpleQueue[RunUpdate | None] = SimpleQueue()

    def read() -> None:
        try:
            for event in reader.events():
                if isinstance(event, Answer):
                    news.put(RunUpdate(answer=event, line=reader.running_line))
        finally:
            news.put(None)

    threading.Thread(target=read, name="run", daemon=True).start()
    update: RunUpdate | None = RunUpdate()
    while update is not None:
        yield update
        with suppress(Empty):
            update = news.get(timeout=HEARTBEAT_SECONDS)


class Compiler:
    """Compiles workspaces, and runs them in full.

    Parameters
    ----------
    launcher : Launcher
    cache : AnswerCache
    compiling : FairQueue
        Queue of compilations; several run at a time.
    measuring : FairQueue
        Queue of measurements; one runs at a time.
    """

    def __init__(self, launcher: Launcher, cache: AnswerCache, compiling: FairQueue, measuring: FairQueue) -> None:
        self._launcher = launcher
        self._cache = cache
        self._compiling = compiling
        self._measuring = measuring
        self._single_flight: SingleFlight[Answer] = SingleFlight()
        self._tabs: OrderedDict[Client, _Pending] = OrderedDict()
        self._lock = threading.Lock()

    def compile(self, workspace: Workspace, client: Client, seq: int | None = None) -> Answer:
        """Run the script for a moment and return all that was recorded.

        Parameters
        ----------
        workspace : Workspace
        client : Client
        seq : int, optional
            Grows from request to request of a tab; an older request still in progress is cancelled.

        Raises
        ------
        Superseded
            A newer request of the same tab came.
        Busy
            Too many requests are waiting.
        Unavailable
            The sandbox cannot run scripts.
        RequestError
            The files of the workspace are refused; see :meth:`~app.jobs.launcher.Launcher.check`.
        """
        self._launcher.check(workspace)
        pending = self._enrol(client, seq)
        key = content_key("compile", workspace)
        cached = self._cache.get(key)
        if cached is not None:
            return cached

        def work() -> Answer:
            answer, size = self._compile(workspace, client, pending)
            if answer.status in CACHED:
                self._cache.put(key, answer, size)
            return answer

        return self._single_flight.join(key, work)

    def cached(self, workspace: Workspace) -> Answer | None:
        """Return a workspace's cached answer, or None."""
        return self._cache.get(content_key("compile", workspace))

    def run(self, workspace: Workspace, client: Client, seq: int | None = None) -> Answer:
        """Run the script in full, alone on its cores, and return all that was recorded and measured.

        Parameters
        ----------
        workspace : Workspace
        client : Client
        seq : int, optional
            As for :meth:`compile`; an edit in the same tab cancels the run.

        Raises
        ------
        Superseded
            A newer request of the same tab came.
        Busy
            Too many requests are waiting.
        Unavailable
            The sandbox cannot run scripts.
        RequestError
            The files of the workspace are refused; see :meth:`~app.jobs.launcher.Launcher.check`.
        """
        [last] = deque(self.follow(workspace, client, seq), maxlen=1)
        return last.answer or Answer()

    def follow(self, workspace: Workspace, client: Client, seq: int | None = None) -> Generator[RunUpdate]:
        """Run the script in full and yield updates; the last one holds the complete answer.

        Without news the last update is repeated as a heartbeat: a server notices that a client has gone only when it
        writes.  A newer request of the same tab cancels the run, and so does closing the iterator.

        Raises
        ------
        Superseded
            A newer request of the same tab came.
        Busy
            Too many requests are waiting.
        Unavailable
            The sandbox cannot run scripts.
        RequestError
            The files of the workspace are refused; see :meth:`~app.jobs.launcher.Launcher.check`.
        """
        self._launcher.check(workspace)
        pending = self._enrol(client, seq)
        ticket = self._measuring.enter(client.address, client.tab)
        try:
            if pending is not None:
                self._attach(client, pending, ticket=ticket)
            for place in ticket.places(HEARTBEAT_SECONDS):
                yield RunUpdate(place=place)
            job = self._launcher.start("run", workspace)
            ticket.when_asked(job.interrupt)
            if pending is not None:
                self._attach(client, pending, job=job)
            reader = AnswerReader(job)
            try:
                yield from _updates(reader)
            except GeneratorExit:  # the client has gone
                job.cancel()
                raise
            yield RunUpdate(answer=reader.finish(), finished=True)
        finally:
            ticket.end()

    def _compile(self, workspace: Workspace, client: Client, pending: _Pending | None) -> tuple[Answer, int]:
        """Return the answer and its size in bytes."""
        ticket = self._compiling.enter(client.address, client.tab)
        if pending is not None:
            self._attach(client, pending, ticket=ticket)
        with ticket:
            job = self._launcher.start("compile", workspace)
            ticket.when_asked(job.interrupt)
            if pending is not None:
                self._attach(client, pending, job=job)
            reader = AnswerReader(job)
            return reader.answer(), reader.size

    def _enrol(self, client: Client, seq: int | None) -> _Pending | None:
        """Note the newest request of a tab, and cancel the one before."""
        if seq is None or not client.tab:
            return None
        with self._lock:
            older = self._tabs.get(client)
            if older is not None and older.seq > seq:
                raise Superseded("a newer request took the place of this one")
            pending = self._tabs[client] = _Pending(seq)
            self._tabs.move_to_end(client)
            while len(self._tabs) > MAX_TABS:
                self._tabs.popitem(last=False)
        if older is not None:
            older.abandon()
        return pending

    def _attach(self, client: Client, pending: _Pending, ticket: Ticket | None = None, job: Job | None = None) -> None:
        """Note what a request holds, so that a newer one can cancel it; raises if a newer one came already."""
        with self._lock:
            pending.ticket = ticket or pending.ticket
            pending.job = job or pending.job
            replaced = self._tabs.get(client, pending) is not pending
        if replaced:
            pending.abandon()
            raise Superseded("a newer request took the place of this one")
