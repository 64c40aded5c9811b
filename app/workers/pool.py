"""The pool of rendering processes."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from app import errors
from app.errors import Busy, Overrun, RequestError, Superseded, Unavailable
from app.jobs.answers import StoredAnswer
from app.jobs.callers import waiting
from app.patience import Patience
from app.workers.fork_server import Settings
from app.workers.frames import Call, MissingAnswers, Refusal, Result, TaskError, TaskReply
from app.workers.tasks import Expected, Packed, Task
from app.workers.worker import ForkServer, Worker, WorkerGone

log = logging.getLogger(__name__)

CPU_SECONDS = 5.0
"""CPU time limit per task; for comparison, the page of ResNet-18 takes 0.1 s."""
TURN_SECONDS = 20.0
"""How long a task waits for a worker, without the time in which the workers wait for a processor."""
MAX_WAITING = 256
"""Maximum number of tasks that wait for a worker."""
WORKER_BYTES = 96 << 20
"""Memory that a worker needs to decode and render the answers of large models."""
CANCELLED = "no request is waiting for this any more"
FORK_ATTEMPTS = 2
IMPORTED_BYTES = 100 << 20
"""Memory of the fork server, which workers share."""


@dataclass(eq=False, slots=True)
class _Slot:
    """A slot of the pool; its worker is forked on demand, and again after it is gone."""

    worker: Worker | None = None
    busy: bool = False
    client: str = ""
    """The client of the last task."""

    def suits(self, place: _Place) -> tuple[int, bool, bool]:
        """Return a score for a task: its number of cached answers, the same client, and a live worker."""
        if self.worker is None:
            return 0, False, False
        return sum(key in self.worker.answers for key in place.answers), self.client == place.client, True


@dataclass(eq=False, slots=True)
class _Place:
    """A task in the queue or on a worker."""

    client: str
    answers: list[str]
    ready: threading.Event = field(default_factory=threading.Event)
    slot: _Slot | None = None
    cancelled: bool = False
    over: bool = False


def count_of_workers(memory_bytes: int, cores: int) -> int:
    """Return the size of the pool: one more than cores if memory permits, and at least two.

    Parameters
    ----------
    memory_bytes : int
        Memory limit of all workers together.
    cores : int
        Number of cores of the machine.
    """
    return max(2, min(cores + 1, (memory_bytes - IMPORTED_BYTES) // WORKER_BYTES))


class RenderWorkers:
    """A pool of rendering processes, which are replaced when they exceed their limits of time or memory.

    Parameters
    ----------
    count : int
        Number of processes; one client may use all but one of them.
    memory_bytes : int
        Memory limit of all workers together.
    """

    def __init__(self, count: int, memory_bytes: int) -> None:
        self._settings = Settings((memory_bytes - IMPORTED_BYTES) // count, CPU_SECONDS)
        self._slots = [_Slot() for _ in range(count)]
        self._per_client = max(1, count - 1)
        self._held: Counter[str] = Counter()
        self._places: list[_Place] = []
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._forks: ForkServer | None = None
        self._closed = False

    def perform(
        self, task: Task, kind: type[Expected], answers: Sequence[StoredAnswer] = (), client: str = ""
    ) -> Expected:
        """Run a task; see :meth:`app.workers.tasks.Renderer.perform`.

        Raises
        ------
        RequestError
            If the requested item does not exist.
        Overrun
            If the task exceeds its limits of time or memory.
        Superseded
            If the client disconnected.
        Busy
            If too many tasks are waiting.
        """
        place = _Place(client, [answer.key for answer in answers])
        with waiting(lambda: self._cancel(place)):
            self._enter(place)
            try:
                result = self._call(self._wait(place), place, task, answers)
            finally:
                self._leave(place)
        if isinstance(result, Refusal):
            raise _error(result)
        if isinstance(result, TaskError):
            log.error("a task failed: %s\n%s", type(task).__name__, result.traceback)
            raise RuntimeError(f"{type(task).__name__} failed")
        assert isinstance(result, TaskReply)
        assert isinstance(result.reply, kind)
        return result.reply

    def _call(self, slot: _Slot, place: _Place, task: Task, answers: Sequence[StoredAnswer]) -> Result:
        """Run a task in the process of a slot, or in a new one where others have run before and it does not survive.

        What they left there, parsed modules for example, takes memory too.
        """
        worker = self._worker(slot)
        if place.cancelled:
            raise Superseded(CANCELLED)
        used = worker.used
        try:
            result = worker.call(Call(task, place.answers))
            if isinstance(result, MissingAnswers):
                result = worker.call(Call(task, place.answers, list(answers)))
        except WorkerGone as error:
            self._drop(slot, worker)
            if place.cancelled:
                raise Superseded(CANCELLED) from error
            if used:
                return self._call(slot, place, task, answers)
            allowed = f"{self._settings.seconds:g} s of processor time and {self._settings.memory_bytes >> 20} MiB"
            raise Overrun(f"rendering this takes more than {allowed}", expected="something smaller") from error
        made = [result.reply.answer.key] if isinstance(result, TaskReply) and isinstance(result.reply, Packed) else []
        worker.answers.extend([*place.answers, *made])
        return result

    def _worker(self, slot: _Slot) -> Worker:
        """Return the worker of a slot, forking it if there is no live one."""
        if slot.worker is not None and slot.worker.alive:
            return slot.worker
        if slot.worker is not None:
            self._drop(slot, slot.worker)
        for _ in range(FORK_ATTEMPTS):
            with suppress(WorkerGone):
                worker = self.start().fork()
                with self._lock:
                    slot.worker = worker
                return worker
        raise Unavailable("no rendering process can be started", retry_after=5)

    def _drop(self, slot: _Slot, worker: Worker) -> None:
        with self._lock:
            slot.worker = None
        worker.close()

    # Scheduling: clients that use fewer workers come first, otherwise first come, first served.

    def _enter(self, place: _Place) -> None:
        with self._lock:
            if len(self._places) >= MAX_WAITING:
                raise Busy("too many pages are being rendered", retry_after=2)
            self._places.append(place)
            self._grant()

    def _wait(self, place: _Place) -> _Slot:
        if not place.ready.is_set():
            patience = Patience(TURN_SECONDS, self.start().pid)
            while (seconds := patience.step()) and not place.ready.wait(seconds):
                pass
        with self._lock:
            if place.cancelled:
                raise Superseded(CANCELLED)
            if place.slot is None:
                raise Busy("too many pages are being rendered", retry_after=2)
            return place.slot

    def _leave(self, place: _Place) -> None:
        with self._lock:
            place.over = True
            if place.slot is None:
                self._places.remove(place)
                return
            place.slot.busy = False
            self._held[place.client] -= 1
            if not self._held[place.client]:
                del self._held[place.client]
            self._grant()

    def _grant(self) -> None:
        """Assign free workers to waiting tasks; the caller holds the lock."""
        while free := [slot for slot in self._slots if not slot.busy]:
            ready = [place for place in self._places if self._held[place.client] < self._per_client]
            if not ready or self._closed:
                return
            place = min(ready, key=lambda place: self._held[place.client])
            place.slot = max(free, key=lambda slot: slot.suits(place))
            place.slot.busy, place.slot.client = True, place.client
            self._held[place.client] += 1
            self._places.remove(place)
            place.ready.set()

    def _cancel(self, place: _Place) -> None:
        with self._lock:
            place.cancelled = True
            if place.slot is not None and place.slot.worker is not None and not place.over:
                place.slot.worker.kill()
        place.ready.set()

    # Processes

    def start(self) -> ForkServer:
        """Return the fork server, starting it if necessary."""
        with self._starting:
            if self._closed:
                raise Unavailable("the server is shutting down")
            if self._forks is not None and not self._forks.alive:
                log.error("the process that workers are forked from has ended")
                self._forks.close()
                self._forks = None
            if self._forks is None:
                self._forks = ForkServer(self._settings)
            return self._forks

    @property
    def pids(self) -> list[int]:
        """Process ids of the fork server, if it runs, and of the workers."""
        forks = [self._forks.pid] if self._forks is not None else []
        return [*forks, *(slot.worker.pid for slot in self._slots if slot.worker is not None)]

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            workers = [slot.worker for slot in self._slots if slot.worker is not None]
        for worker in workers:
            worker.kill()
        with self._starting:
            if self._forks is not None:
                self._forks.close()


def _error(refusal: Refusal) -> RequestError:
    """Recreate the exception that a worker raised."""
    kind: type[RequestError] = getattr(errors, refusal.kind)
    return kind(refusal.message, expected=refusal.expected)
