"""Compiles and runs workspaces: from the cache, or through the queue and the sandbox."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Generator, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

import msgspec

from app.artifacts import Options, Workspace
from app.counts import ANSWERS
from app.errors import RequestError, Superseded
from app.jobs.answer_reader import AnswerReader, IncomingMessages
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
"""The minimum time between two updates of a run, each of which is decoded and drawn."""
MAX_TABS = 4096
REPLACED = "a newer request replaced this one"
CACHED = frozenset({"ok", "error"})
"""Statuses of cached answers, without those of stopped runs: the next may get further, as after a hurried one."""


@dataclass(slots=True, eq=False)
class _PendingRequest:
    """A request in progress, the newest of its tab, with the resources that it holds."""

    seq: int
    ticket: Ticket | None = None
    jobs: list[Job] = field(default_factory=list)
    abandoned: bool = False

    def abandon(self) -> None:
        """Leave the queue and cancel the jobs."""
        self.abandoned = True
        if self.ticket is not None:
            self.ticket.end()
        for job in self.jobs:
            job.cancel()

    def hold(self, ticket: Ticket | None = None, job: Job | None = None) -> None:
        """Register a resource that a newer request of the tab releases.

        Raises
        ------
        Superseded
            If there is a newer request, or the client has disconnected.
        """
        self.ticket = ticket or self.ticket
        self.jobs += [job] if job is not None else []
        if self.abandoned:
            self.abandon()
            raise Superseded(REPLACED)

    def finish(self) -> None:
        """Drop the resources, as a tab's last request is remembered for long."""
        self.ticket = None
        self.jobs = []


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """The progress of a run."""

    place: int = 0
    """The place in the queue; 0 while running."""
    snapshot: bytes | None = None
    """The child's last message, untrusted."""
    answer: StoredAnswer | None = None
    """The complete answer, in the last update."""


def _run_key(workspace: Workspace) -> bytes:
    """Return a hash of what the times of kernels depend on: not on which texts of the workspace are shown."""
    chosen = workspace.options
    options = Options(target=chosen.target, opt_level=chosen.opt_level, threads=chosen.threads, prefix=chosen.prefix)
    return content_key("run", msgspec.structs.replace(workspace, options=options))


def _updates(reader: AnswerReader) -> Iterator[RunUpdate]:
    """Yield an update of the newest message, and repeat the last update as a heartbeat."""
    updates: SimpleQueue[RunUpdate | RequestError | None] = SimpleQueue()

    def read() -> None:
        try:
            for message in reader.messages():
                updates.put(RunUpdate(snapshot=message))
        except RequestError as error:
            updates.put(error)
        finally:
            updates.put(None)

    threading.Thread(target=read, name="run", daemon=True).start()
    update: RunUpdate | RequestError | None = RunUpdate()
    while isinstance(update, RunUpdate):
        yield update
        due = time.monotonic() + UPDATE_SECONDS
        with suppress(Empty):
            update = updates.get(timeout=HEARTBEAT_SECONDS)
            while isinstance(update, RunUpdate):  # and the newest of those that arrive until the next one is due
                update = updates.get(timeout=max(0.0, due - time.monotonic()))
    if update is not None:
        raise update


class Compiler:
    """Compiles workspaces, and runs them in full.

    Parameters
    ----------
    compiling : FairQueue
        The queue of compilations, of which several run at a time.
    measuring : FairQueue
        The queue of measurements, of which one runs at a time.
    incoming : IncomingMessages
        Processes the messages of children.
    """

    def __init__(
        self,
        launcher: Launcher,
        cache: AnswerCache,
        compiling: FairQueue,
        measuring: FairQueue,
        incoming: IncomingMessages,
    ) -> None:
        self._launcher = launcher
        self._cache = cache
        self._compiling = compiling
        self._measuring = measuring
        self._incoming = incoming
        self._kernels = KernelCache()
        self._single_flight: SingleFlight[StoredAnswer] = SingleFlight()
        self._tabs: OrderedDict[Client, _PendingRequest] = OrderedDict()
        self._runs: OrderedDict[Client, tuple[bytes, str]] = OrderedDict()
        """What each tab ran last, and the key of the answer."""
        self._lock = threading.Lock()

    def compile(self, workspace: Workspace, client: Client, seq: int | None = None) -> StoredAnswer:
        """Run the script with a short time limit and return everything recorded.

        Parameters
        ----------
        seq : int, optional
            The sequence number of the tab's requests; older requests in progress are cancelled.

        Raises
        ------
        Superseded
            If there is a newer request of the same tab.
        Busy
            If too many requests are waiting.
        Unavailable
            If the sandbox cannot run scripts.
        RequestError
            If the files of the workspace are rejected; see :meth:`~app.jobs.launcher.Launcher.check`.
        """
        self._launcher.check(workspace)
        pending = self._enrol(client, seq)
        key = content_key("compile", workspace)
        cached = self._cache.get(key)
        ANSWERS.add("work" if cached is None else "cache")
        if cached is not None:
            return msgspec.structs.replace(cached, recalled=True)
        return self._single_flight.join(key, lambda: self._compile(workspace, client, pending, key))

    @property
    def cached_bytes(self) -> int:
        """Size of the cached answers."""
        return self._cache.size

    def cached(self, workspace: Workspace) -> StoredAnswer | None:
        """Return a workspace's cached answer, or None."""
        return self._cache.get(content_key("compile", workspace))

    def holding(self, content: str) -> StoredAnswer | None:
        """Return the latest answer with a listing or drawing of this key, or None."""
        return self._cache.holding(content)

    def measured(self, workspace: Workspace, client: Client) -> StoredAnswer | None:
        """Return the answer of the tab's last run, if it ran this workspace, whatever of it was shown; else None."""
        with self._lock:
            ran, key = self._runs.get(client, (b"", ""))
        return self._cache.of_key(key) if ran == _run_key(workspace) else None

    def run(self, workspace: Workspace, client: Client, seq: int | None = None) -> StoredAnswer:
        """Run the script in full, on exclusive cores, and return everything recorded and measured.

        Parameters
        ----------
        seq : int, optional
            As in :meth:`compile`; an edit in the same tab cancels the run.

        Raises
        ------
        Superseded, Busy, Unavailable, RequestError
            As in :meth:`compile`.
        """
        [last] = deque(self.follow(workspace, client, seq), maxlen=1)
        assert last.answer is not None
        return last.answer

    def follow(self, workspace: Workspace, client: Client, seq: int | None = None) -> Generator[RunUpdate]:
        """Run the script in full and yield updates, of which the last has the complete answer.

        The last update is repeated as a heartbeat, as disconnected clients are only noticed when writing.  A newer
        request of the same tab cancels the run, and so does closing the iterator.

        Raises
        ------
        Superseded, Busy, Unavailable, RequestError
            As in :meth:`compile`.
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
                    except GeneratorExit:  # the client has disconnected
                        job.cancel()
                        raise
                    compiler = self._cuda_compiler(workspace, client, pending)
                    compiler.begin(reader.programs)
                    answer = reader.finish(compiler.finish())
            self._cache.put(answer, client.address)
            self._remember(workspace, client, answer)
            yield RunUpdate(answer=answer)
        finally:
            ticket.end()
            pending.finish()

    def _compile(self, workspace: Workspace, client: Client, pending: _PendingRequest, key: bytes) -> StoredAnswer:
        reader, kernels = self._read(workspace, client, pending)
        with reader:
            answer = reader.finish(kernels)
        self._cache.put(answer, client.address, key if answer.status in CACHED and not answer.hurried else None)
        return answer

    def _remember(self, workspace: Workspace, client: Client, answer: StoredAnswer) -> None:
        if client.tab and answer.status in CACHED:
            with self._lock:
                self._runs[client] = _run_key(workspace), answer.key
                self._runs.move_to_end(client)
                while len(self._runs) > MAX_TABS:
                    self._runs.popitem(last=False)

    def _cuda_compiler(self, workspace: Workspace, client: Client, pending: _PendingRequest) -> CudaCompiler:
        def hold(job: Job) -> None:
            pending.hold(job=job)

        return CudaCompiler(self._launcher, self._incoming, client.address, workspace.options, hold, self._kernels)

    def _read(
        self, workspace: Workspace, client: Client, pending: _PendingRequest
    ) -> tuple[AnswerReader, list[CompiledKernels]]:
        """Run the script, read all its messages, and compile its kernels."""
        ticket = self._compiling.enter(client.address, client.tab, long=workspace.is_long)
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

    def _enrol(self, client: Client, seq: int | None) -> _PendingRequest:
        """Register the newest request of a tab, and cancel the previous one."""
        if seq is None or not client.tab:
            return _PendingRequest(0)
        with self._lock:
            older = self._tabs.get(client)
            if older is not None and older.seq > seq:
                raise Superseded(REPLACED)
            pending = self._tabs[client] = _PendingRequest(seq)
            self._tabs.move_to_end(client)
            while len(self._tabs) > MAX_TABS:
                self._tabs.popitem(last=False)
        if older is not None:
            older.abandon()
        return pending
