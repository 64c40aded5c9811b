"""Compiles and runs workspaces: from the cache, or through the queue and the sandbox."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Generator, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from app.artifacts import Workspace
from app.errors import RequestError, Superseded
from app.jobs.answer_reader import AnswerReader, Incoming
from app.jobs.answers import StoredAnswer
from app.jobs.cache import AnswerCache, content_key
from app.jobs.callers import waiting
from app.jobs.clients import Client
from app.jobs.cuda_compiler import CudaCompiler, KernelCache
from app.jobs.fair_queue import FairQueue, Ticket
from app.jobs.launcher import Launcher
from app.jobs.single_flight import SingleFlight
from app.machine_code import CompiledKernels
from app.sandbox import Job

HEARTBEAT_SECONDS = 3.0
UPDATE_SECONDS = 0.25
"""Least time between two updates of a run: each is decoded and drawn."""
MAX_TABS = 4096
REPLACED = "a newer request replaced this one"
CACHED = frozenset({"ok", "error"})
"""Statuses of answers that are cached; a run that was stopped may get further the next time."""


@dataclass(slots=True, eq=False)
class _Pending:
    """A request in progress, and what it holds; of a tab it is the newest."""

    seq: int
    ticket: Ticket | None = None
    jobs: list[Job] = field(default_factory=list)
    abandoned: bool = False

    def abandon(self) -> None:
        """Give up the place in the queue and the jobs."""
        self.abandoned = True
        if self.ticket is not None:
            self.ticket.end()
        for job in self.jobs:
            job.cancel()

    def hold(self, ticket: Ticket | None = None, job: Job | None = None) -> None:
        """Note what a newer request of the tab has to release.

        Raises
        ------
        Superseded
            One came already, or the client has gone.
        """
        self.ticket = ticket or self.ticket
        self.jobs += [job] if job is not None else []
        if self.abandoned:
            self.abandon()
            raise Superseded(REPLACED)

    def finish(self) -> None:
        """Forget what is held no more: a tab's last request is remembered for long."""
        self.ticket = None
        self.jobs = []


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """How far a run has come."""

    place: int = 0
    """Place in the queue; 0 once it runs."""
    snapshot: bytes | None = None
    """The child's last message, hostile."""
    answer: StoredAnswer | None = None
    """The complete answer, in the last update."""


def _updates(reader: AnswerReader) -> Iterator[RunUpdate]:
    """Yield an update when there are messages, of the newest one, and the last update again as a heartbeat."""
    news: SimpleQueue[RunUpdate | RequestError | None] = SimpleQueue()

    def read() -> None:
        try:
            for message in reader.messages():
                news.put(RunUpdate(snapshot=message))
        except RequestError as error:
            news.put(error)
        finally:
            news.put(None)

    threading.Thread(target=read, name="run", daemon=True).start()
    update: RunUpdate | RequestError | None = RunUpdate()
    while isinstance(update, RunUpdate):
        yield update
        due = time.monotonic() + UPDATE_SECONDS
        with suppress(Empty):
            update = news.get(timeout=HEARTBEAT_SECONDS)
            while isinstance(update, RunUpdate):  # and of those that come until the next one is due, the newest
                update = news.get(timeout=max(0.0, due - time.monotonic()))
    if update is not None:
        raise update


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
    incoming : Incoming
        What is done with the messages of children.
    """

    def __init__(
        self,
        launcher: Launcher,
        cache: AnswerCache,
        compiling: FairQueue,
        measuring: FairQueue,
        incoming: Incoming,
    ) -> None:
        self._launcher = launcher
        self._cache = cache
        self._compiling = compiling
        self._measuring = measuring
        self._incoming = incoming
        self._kernels = KernelCache()
        self._single_flight: SingleFlight[StoredAnswer] = SingleFlight()
        self._tabs: OrderedDict[Client, _Pending] = OrderedDict()
        self._lock = threading.Lock()

    def compile(self, workspace: Workspace, client: Client, seq: int | None = None) -> StoredAnswer:
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

        return self._single_flight.join(key, lambda: self._compile(workspace, client, pending, key))

    def cached(self, workspace: Workspace) -> StoredAnswer | None:
        """Return a workspace's cached answer, or None."""
        return self._cache.get(content_key("compile", workspace))

    def holding(self, content: str) -> StoredAnswer | None:
        """Return the latest answer that has a listing or a drawing of this key, or None."""
        return self._cache.holding(content)

    def run(self, workspace: Workspace, client: Client, seq: int | None = None) -> StoredAnswer:
        """Run the script in full, alone on its cores, and return all that was recorded and measured.

        Parameters
        ----------
        workspace : Workspace
        client : Client
        seq : int, optional
            As for :meth:`compile`; an edit in the same tab cancels the run.

        Raises
        ------
        Superseded, Busy, Unavailable, RequestError
            As :meth:`compile`.
        """
        [last] = deque(self.follow(workspace, client, seq), maxlen=1)
        assert last.answer is not None
        return last.answer

    def follow(self, workspace: Workspace, client: Client, seq: int | None = None) -> Generator[RunUpdate]:
        """Run the script in full and yield updates; the last one holds the complete answer.

        Without news the last update is repeated as a heartbeat: a server notices that a client has gone only when it
        writes.  A newer request of the same tab cancels the run, and so does closing the iterator.

        Raises
        ------
        Superseded, Busy, Unavailable, RequestError
            As :meth:`compile`.
        """
        self._launcher.check(workspace)
        pending = self._enrol(client, seq)
        ticket = self._measuring.enter(client.address, client.tab)
        try:
            with waiting(pending.abandon):
                pending.hold(ticket=ticket)
                for place in ticket.places(HEARTBEAT_SECONDS):
                    yield RunUpdate(place=place)
                job = self._launcher.start("run", workspace)
                ticket.when_asked(job.interrupt)
                pending.hold(job=job)
                with self._incoming.read(job, client.address) as reader:
                    try:
                        yield from _updates(reader)
                    except GeneratorExit:  # the client has gone
                        job.cancel()
                        raise
                    compiler = self._cuda_compiler(workspace, client, pending)
                    compiler.begin(reader.programs)
                    answer = reader.finish(compiler.finish())
            self._cache.put(answer, client.address)
            yield RunUpdate(answer=answer)
        finally:
            ticket.end()
            pending.finish()

    def _compile(self, workspace: Workspace, client: Client, pending: _Pending, key: bytes) -> StoredAnswer:
        reader, kernels = self._read(workspace, client, pending)
        with reader:
            answer = reader.finish(kernels)
        self._cache.put(answer, client.address, key if answer.status in CACHED else None)
        return answer

    def _cuda_compiler(self, workspace: Workspace, client: Client, pending: _Pending) -> CudaCompiler:
        def hold(job: Job) -> None:
            pending.hold(job=job)

        return CudaCompiler(self._launcher, self._incoming, client.address, workspace.options, hold, self._kernels)

    def _read(
        self, workspace: Workspace, client: Client, pending: _Pending
    ) -> tuple[AnswerReader, list[CompiledKernels]]:
        """Run the script, read what it sends to the end, and compile its kernels."""
        ticket = self._compiling.enter(client.address, client.tab)
        try:
            with waiting(pending.abandon):
                pending.hold(ticket=ticket)
                ticket.wait()
                job = self._launcher.start("compile", workspace)
                ticket.when_asked(job.interrupt)
                pending.hold(job=job)
                reader = self._incoming.read(job, client.address)
                with ExitStack() as release:
                    release.enter_context(reader)
                    compiler = self._cuda_compiler(workspace, client, pending)
                    for _ in reader.messages():
                        compiler.begin(reader.programs)
                    compiler.begin(reader.programs)
                    kernels = compiler.finish()
                    release.pop_all()
                return reader, kernels
        finally:
            ticket.end()
            pending.finish()

    def _enrol(self, client: Client, seq: int | None) -> _Pending:
        """Note the newest request of a tab, and cancel the one before."""
        if seq is None or not client.tab:
            return _Pending(0)
        with self._lock:
            older = self._tabs.get(client)
            if older is not None and older.seq > seq:
                raise Superseded(REPLACED)
            pending = self._tabs[client] = _Pending(seq)
            self._tabs.move_to_end(client)
            while len(self._tabs) > MAX_TABS:
                self._tabs.popitem(last=False)
        if older is not None:
            older.abandon()
        return pending
