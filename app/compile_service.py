"""Compiles and runs workspaces: through the cache, in turn, in the sandbox."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import msgspec

from app.answers import AnswerReader
from app.artifacts import Answer, Mode, Request, Workspace
from app.cache import AnswerCache, content_key
from app.clients import Client
from app.config import Config
from app.cores import Cores
from app.errors import InvalidBody, Superseded, TooLarge, Unavailable
from app.flights import Flights
from app.queue import Turn, Turns
from app.sandbox import Job, Limits, Runner, SandboxError
from app.uploads import Uploads
from compiler.runtime.threads import available_cores

WALL_MARGIN_SECONDS = 4.0
"""Time beyond a script's budget for what cannot be interrupted, and for the last snapshot."""
FREE_THREADS = 32
"""Threads that a script may start by itself, beside those of OpenMP and of NumPy's BLAS."""
THREAD_BYTES = 24 << 20
"""Address space of a thread, for its stack and buffers: it comes on top of what a script's arrays may take, though
only for as many threads as there are cores, since the script can use it for anything."""
HEARTBEAT_SECONDS = 3.0
TABS_KEPT = 4096
CACHED = frozenset({"ok", "error"})
"""How an answer must have ended to be kept: another try may get further than one that was stopped."""


@dataclass(slots=True)
class _Pending:
    """The newest request of a tab."""

    seq: int
    turn: Turn | None = None
    job: Job | None = None

    def abandon(self) -> None:
        if self.turn is not None:
            self.turn.end()
        if self.job is not None:
            self.job.cancel()


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands."""

    place: int = 0
    """Its place in the queue; 0 when its turn has come."""
    answer: Answer | None = None
    """What was seen until now."""
    line: int | None = None
    """The script's line that runs native code now."""
    finished: bool = False


class Starter:
    """Starts jobs for workspaces.

    Parameters
    ----------
    runner : Runner
    config : Config
    cores : Cores
        Where they run.
    uploads : Uploads
        Where large files come from.
    """

    def __init__(self, runner: Runner, config: Config, cores: Cores, uploads: Uploads) -> None:
        self._uploads = uploads
        self._runner = runner
        self._cores = cores
        self._seconds: dict[Mode, float] = {
            "compile": config.compile_seconds,
            "run": config.run_seconds,
            "ladder": config.ladder_seconds,
        }
        self._files_bytes = config.files_bytes

    def start(self, mode: Mode, workspace: Workspace) -> Job:
        """Start a job.

        Raises
        ------
        InvalidBody
            If the attached files cannot lie side by side in a directory.
        TooLarge
            If they are too large.
        Unavailable
            If no process can be had.
        """
        size = sum(len(content) for content in workspace.files.values())
        if size > self._files_bytes:
            limit = f"at most {self._files_bytes:,} bytes"
            raise TooLarge(f"the attached files have {size:,} bytes together", field="$.files", expected=limit)
        uploads = {name: self._uploads.read(name, file) for name, file in workspace.uploads.items()}
        budget = self._seconds[mode]
        request = Request(mode=mode, script=workspace.script, options=workspace.options, budget_seconds=budget)
        threads = workspace.options.threads
        # A model is held several times: as a file, as it was read, as arrays, and as it was compiled.
        held = 8 * sum(map(len, uploads.values()))
        limits = Limits(
            cpus=self._cores.choose(mode, threads),
            wall_seconds=budget + WALL_MARGIN_SECONDS,
            cpu_seconds=(budget + WALL_MARGIN_SECONDS) * max(2, threads),
            threads=FREE_THREADS + 2 * threads,
            memory_bytes=Limits().memory_bytes + 2 * min(threads, available_cores()) * THREAD_BYTES + held,
            files_bytes=Limits().files_bytes + sum(map(len, uploads.values())),
        )
        try:
            return self._runner.start(msgspec.json.encode(request), {**workspace.files, **uploads}, limits)
        except ValueError as error:
            raise InvalidBody(str(error), field="$.files", expected="plain file names") from error
        except SandboxError as error:
            raise Unavailable("scripts cannot be run now: the sandbox does not start", retry_after=10) from error


def _standings(reader: AnswerReader) -> Iterator[Standing]:
    """Yield how a run stands at each snapshot, and again when there is none for a while."""
    news: SimpleQueue[Standing | None] = SimpleQueue()

    def read() -> None:
        try:
            for event in reader.events():
                if isinstance(event, Answer):
                    news.put(Standing(answer=event, line=reader.running_line))
        finally:
            news.put(None)

    threading.Thread(target=read, name="run", daemon=True).start()
    standing: Standing | None = Standing()
    while standing is not None:
        yield standing
        with suppress(Empty):
            standing = news.get(timeout=HEARTBEAT_SECONDS)


class Compiler:
    """Answers workspaces.

    Parameters
    ----------
    starter : Starter
    cache : AnswerCache
    compiling : Turns
        Who may compile; several at one time.
    measuring : Turns
        Who may measure; one at a time on a set of cores.
    """

    def __init__(self, starter: Starter, cache: AnswerCache, compiling: Turns, measuring: Turns) -> None:
        self._starter = starter
        self._cache = cache
        self._compiling = compiling
        self._measuring = measuring
        self._flights: Flights[Answer] = Flights()
        self._tabs: OrderedDict[Client, _Pending] = OrderedDict()
        self._lock = threading.Lock()

    def compile(self, workspace: Workspace, client: Client, seq: int | None = None) -> Answer:
        """Return all that is seen when the script runs for a moment.

        Parameters
        ----------
        workspace : Workspace
        client : Client
        seq : int, optional
            Grows from request to request of a tab; an older one that is still worked on is given up.

        Raises
        ------
        Superseded
            A newer request of the same tab came.
        Busy
            Too many requests wait.
        Unavailable
            The sandbox does not work.
        """
        pending = self._enrol(client, seq)
        key = content_key("compile", workspace)
        known = self._cache.get(key)
        if known is not None:
            return known

        def work() -> Answer:
            answer, size = self._compile(workspace, client, pending)
            if answer.status in CACHED:
                self._cache.put(key, answer, size)
            return answer

        return self._flights.join(key, work)

    def known(self, workspace: Workspace) -> Answer | None:
        """Return what a workspace's compilation gave, if that was asked for of late."""
        return self._cache.get(content_key("compile", workspace))

    def run(self, workspace: Workspace, client: Client, seq: int | None = None) -> Answer:
        """Run the script in full, alone on its cores, and return all that was seen and measured.

        Parameters
        ----------
        workspace : Workspace
        client : Client
        seq : int, optional
            As for :meth:`compile`; whoever edits on does not wait for the run any more.

        Raises
        ------
        Superseded
            A newer request of the same tab came.
        Busy
            Too many requests wait.
        Unavailable
            The sandbox does not work.
        """
        [last] = deque(self.follow(workspace, client, seq), maxlen=1)
        return last.answer or Answer()

    def follow(self, workspace: Workspace, client: Client, seq: int | None = None) -> Generator[Standing]:
        """Run the script in full, telling how it stands as it goes on; the last one holds the whole answer.

        Without news, the same is told again after a while: a server notices only when it writes that nobody is there.
        A newer request of the same tab ends it, and so does closing the iterator.

        Raises
        ------
        Superseded
            A newer request of the same tab came.
        Busy
            Too many requests wait.
        Unavailable
            The sandbox does not work.
        """
        pending = self._enrol(client, seq)
        turn = self._measuring.enter(client.address, client.tab)
        try:
            if pending is not None:
                self._attach(client, pending, turn=turn)
            for place in turn.places(HEARTBEAT_SECONDS):
                yield Standing(place=place)
            job = self._starter.start("run", workspace)
            if pending is not None:
                self._attach(client, pending, job=job)
            reader = AnswerReader(job)
            try:
                yield from _standings(reader)
            except GeneratorExit:  # nobody follows any more
                job.cancel()
                raise
            yield Standing(answer=reader.finished(), finished=True)
        finally:
            turn.end()

    def _compile(self, workspace: Workspace, client: Client, pending: _Pending | None) -> tuple[Answer, int]:
        """Return the answer and the bytes that it came in."""
        turn = self._compiling.enter(client.address, client.tab)
        if pending is not None:
            self._attach(client, pending, turn=turn)
        with turn:
            job = self._starter.start("compile", workspace)
            if pending is not None:
                self._attach(client, pending, job=job)
            reader = AnswerReader(job)
            return reader.answer(), reader.size

    def _enrol(self, client: Client, seq: int | None) -> _Pending | None:
        """Note the newest request of a tab, and give up the one before."""
        if seq is None or not client.tab:
            return None
        with self._lock:
            older = self._tabs.get(client)
            if older is not None and older.seq > seq:
                raise Superseded("a newer request took the place of this one")
            pending = self._tabs[client] = _Pending(seq)
            self._tabs.move_to_end(client)
            while len(self._tabs) > TABS_KEPT:
                self._tabs.popitem(last=False)
        if older is not None:
            older.abandon()
        return pending

    def _attach(self, client: Client, pending: _Pending, turn: Turn | None = None, job: Job | None = None) -> None:
        """Note what a request holds, so that a newer one can take it away; too late if one came already."""
        with self._lock:
            pending.turn = turn or pending.turn
            pending.job = job or pending.job
            replaced = self._tabs.get(client, pending) is not pending
        if replaced:
            pending.abandon()
            raise Superseded("a newer request took the place of this one")
