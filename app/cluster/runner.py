"""The server's side: runs jobs on the machines of a cluster, with the interface of the local sandbox."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec
from distributed import Client, Queue

from app.cluster import messages, pickles
from app.cluster.host import perform
from app.cluster.messages import (
    COMPILE,
    FACTS,
    MEASURE,
    Assignment,
    Cancel,
    ChildMessage,
    Facts,
    Interrupt,
    JobCancelled,
    JobEnded,
    JobLost,
    JobStarted,
    Order,
    Report,
    processor,
)
from app.config import ConfigurationError
from app.sandbox import Limits, Machine, Outcome, SandboxError, StoredFile, Tier
from app.sandbox.files import Files, check_files
from app.sandbox.interface import MessageReader

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
"""How long the scheduler may take to answer at the start."""
MACHINE_SECONDS = 60.0
"""How long the first machine may take to join at the start."""
LOOK_SECONDS = 1.0
"""How often a server asks which machines there are."""
RETURN_SECONDS = 10.0
"""How long a job waits without any machine in the cluster."""
MAX_REPORTS = 8
"""Reports of a job that wait to be read; then its machine waits, and its child."""
MAX_STARTS = 2
"""How often a job is started: once more where its machine went away."""
CALLS = 4
"""Orders that are sent at one time."""


class ClusterJob(MessageReader):
    """A job that a machine of the cluster works on."""

    def __init__(self, cluster: Cluster, assignment: Assignment, cpu: str = "") -> None:
        self._cluster = cluster
        self._assignment = assignment
        self._measures = assignment.limits.own_cpus > 0
        self._name = f"strata-{secrets.token_hex(12)}"
        self._reports = Queue(self._name, client=cluster.client, maxsize=MAX_REPORTS)
        self._orders: Queue | None = None
        self._lock = threading.Lock()
        self._starts = 0
        self._heard = False
        self._cancelled = False
        self.cpu = cpu
        self.present = time.monotonic()
        """When a machine that may take it was last there."""
        self.worker: str | None = None
        """Address of the worker that has it; None while it waits for one."""
        self._future = cluster.client.submit(
            perform,
            self._name,
            self._measures,
            key=self._name,
            pure=False,
            resources={MEASURE if self._measures else COMPILE: 1, **({processor(cpu): 1} if cpu else {})},
        )

    def interrupt(self) -> None:
        """Ask the child to end soon with what it has."""
        self._send(Interrupt())

    def cancel(self) -> None:
        """Kill the child, if it still lives, or leave the queue for a machine."""
        self._cancelled = True
        self._send(Cancel())

    def lose(self, detail: str) -> None:
        """Let the job end, as nothing more will come of it."""
        self._cluster.call(lambda: self._reports.put(messages.encode(JobLost(detail))))

    def _send(self, order: Order) -> None:
        """Send an order from another thread, as this must not wait."""
        with self._lock:
            orders = self._orders
        if orders is not None:
            self._cluster.call(lambda: orders.put(messages.encode(order)))
        elif isinstance(order, Cancel):
            self._cluster.call(lambda: self._reports.put(messages.encode(JobCancelled())))

    def _finish(self) -> None:
        while self._next() is not None:
            continue

    def _next(self) -> bytes | None:
        """The next message, or None when there will be none and the outcome is settled."""
        while self._outcome is None:
            try:
                message = self._take(messages.decode_report(self._reports.get()))
            except (OSError, RuntimeError, msgspec.MsgspecError) as error:  # what Dask raises without the scheduler
                log.error("job %s: %s", self._name, error)
                detail = f"the cluster's scheduler, {self._cluster.address}, does not answer"
                self._settle(Outcome(status="lost", detail=detail, machine=self.machine))
                return None
            if message is not None:
                return message
        return None

    def _take(self, report: Report) -> bytes | None:
        """Act on a report; returns the message in it, if there is one."""
        match report:
            case ChildMessage(message):
                self._heard = True
                return message
            case JobEnded(outcome):
                self._settle(outcome)
            case JobLost(detail):
                self._settle(Outcome(status="lost", detail=detail, machine=self.machine))
            case JobCancelled() if self._orders is None:
                self._settle(Outcome(status="cancelled", detail="cancelled"))
            case JobStarted() as started:
                self._assign(started)
        return None

    def _assign(self, started: JobStarted) -> None:
        """Hand the job over to the machine that has a slot for it: the first, or another where that one went away.

        What was measured has been passed on, and would come once more: such a job ends instead.
        """
        before, self.machine = self.machine, started.machine
        self._starts += 1
        orders = Queue(started.orders, client=self._cluster.client)
        with self._lock:
            self._orders, self.worker = orders, started.worker
            again = before is not None and (self._starts > MAX_STARTS or (self._measures and self._heard))
            order: Order = Cancel() if self._cancelled or again else self._assignment
        orders.put(messages.encode(order))
        orders.close()
        if before is not None and again:
            self._settle(Outcome(status="lost", detail=went_away(before), machine=before))

    def _settle(self, outcome: Outcome) -> None:
        if outcome.status == "ok" or not self._cancelled:
            self._outcome = outcome
        else:
            self._outcome = msgspec.structs.replace(outcome, status="cancelled", detail="cancelled")
        with contextlib.suppress(OSError, RuntimeError):  # a scheduler that has gone has forgotten both
            self._future.cancel()
            self._reports.close()
        self._cluster.forget(self)


def went_away(machine: Machine) -> str:
    """Say that a machine was lost."""
    return f"the machine {machine.host} went away while it worked on this"


class Cluster:
    """Starts jobs on the machines of a cluster, whichever has a slot.

    Parameters
    ----------
    address : str
        Of the Dask scheduler.
    version : str
        Of the compiler; machines with another one are refused.

    Raises
    ------
    ConfigurationError
        The scheduler does not answer, or has no machine.
    """

    def __init__(self, address: str, version: str) -> None:
        self.address = address
        self._version = version
        self._jobs: set[ClusterJob] = set()
        self._facts: dict[str, Facts] = {}
        self._followers: list[Callable[[int, int], None]] = []
        self._lock = threading.Lock()
        self._calls = ThreadPoolExecutor(CALLS, thread_name_prefix="cluster")
        self._closed = threading.Event()
        pickles.restrict()
        try:
            self.client = self._connect()
        except (OSError, ValueError, RuntimeError, TypeError) as error:  # TypeError: TLS without certificates
            raise ConfigurationError(f"the scheduler {address} cannot be used: {error}") from error
        try:
            self._wait_for_machines()
        except ConfigurationError:
            self.close()
            raise
        threading.Thread(target=self._watch, name="cluster", daemon=True).start()

    @property
    def machines(self) -> list[Machine]:
        """The machines that are there now."""
        return [facts.machine for facts in self._facts.values()]

    @property
    def tier(self) -> Tier:
        """The mechanisms that isolate a job on whichever machine."""
        tiers = [facts.tier for facts in self._facts.values()]
        if not tiers:
            return Tier(reasons={"cluster": "there is no machine"})
        return min(tiers, key=lambda tier: (tier.safe_for_public, len(tier.mechanisms)))

    def follow(self, resize: Callable[[int, int], None]) -> None:
        """Call ``resize`` with the slots for compilations and measurements, now and whenever machines come and go."""
        self._followers.append(resize)
        resize(*self._slots())

    def start(
        self, request: bytes, files: Files | None = None, limits: Limits | None = None, cpu: str = ""
    ) -> ClusterJob:
        """Start a job, one that measures on a machine with a certain processor if ``cpu`` names one.

        Raises
        ------
        ValueError
            If a file's name is not plain, or the files are too large.
        SandboxError
            The scheduler does not answer.
        """
        limits, files = limits or Limits(), files or {}
        check_files(files, limits)
        assignment = Assignment(
            request=request,
            files={name: content for name, content in files.items() if isinstance(content, bytes)},
            stored={name: file.path.name for name, file in files.items() if isinstance(file, StoredFile)},
            limits=limits,
        )
        try:
            job = ClusterJob(self, assignment, cpu)
        except (OSError, RuntimeError) as error:
            raise SandboxError(f"the cluster's scheduler, {self.address}, does not answer: {error}") from error
        with self._lock:
            self._jobs.add(job)
        return job

    def call(self, send: Callable[[], object]) -> None:
        """Send something in a thread of its own: whoever asks must not wait."""

        def attempt() -> None:
            try:
                send()
            except (OSError, RuntimeError) as error:
                log.warning("an order was not sent: %s", error)

        with contextlib.suppress(RuntimeError):  # the server ends, and so does the job
            self._calls.submit(attempt)

    def forget(self, job: ClusterJob) -> None:
        """Watch over a job no more."""
        with self._lock:
            self._jobs.discard(job)

    def close(self) -> None:
        """Leave the cluster, which ends all jobs of this server."""
        self._closed.set()
        self._calls.shutdown(wait=False, cancel_futures=True)
        with contextlib.suppress(OSError, RuntimeError):
            self.client.close(timeout=2)

    def _connect(self) -> Client:
        return Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False, name="strata")

    def _slots(self) -> tuple[int, int]:
        facts = list(self._facts.values())
        return max(1, sum(one.compiling for one in facts)), max(1, len(facts))

    def _wait_for_machines(self) -> None:
        end = time.monotonic() + MACHINE_SECONDS
        while not self._facts:
            self._look()
            if time.monotonic() > end:
                raise ConfigurationError(
                    f"the scheduler {self.address} has no machine of Strata {self._version}; "
                    f"start some with `python -m {__package__}`"
                )
            self._closed.wait(0 if self._facts else 0.2)

    def _look(self) -> None:
        """Learn which machines are there, by a new connection where the old one was given up.

        Raises
        ------
        OSError, RuntimeError
            The scheduler does not answer.
        """
        if self.client.status == "closed":
            self.client = self._connect()
        workers = self.client.scheduler_info().get("workers")
        if workers is None:
            raise ConnectionError("it has gone")
        joined: dict[str, Facts] = {}
        for address, worker in workers.items():
            if FACTS not in worker:
                continue
            facts = messages.decode_facts(worker[FACTS])
            if facts.version == self._version:
                joined[address] = facts
            elif address not in self._facts:
                log.warning("the machine %s has Strata %s, not %s", facts.machine.host, facts.version, self._version)
        changed, self._facts = joined.keys() != self._facts.keys(), joined
        if changed:
            log.info("machines: %s", ", ".join(machine.host for machine in self.machines) or "none")
            for resize in self._followers:
                resize(*self._slots())

    def _watch(self) -> None:
        """Look which machines are there, and end jobs that none will take."""
        while not self._closed.wait(LOOK_SECONDS):
            try:
                self._look()
            except (OSError, RuntimeError) as error:
                log.warning("the scheduler %s does not answer: %s", self.address, error)
                continue
            kinds = {machine.cpu for machine in self.machines}
            with self._lock:
                jobs = list(self._jobs)
            for job in jobs:
                if job.cpu in kinds or (kinds and not job.cpu):
                    job.present = time.monotonic()
                elif time.monotonic() - job.present > RETURN_SECONDS:
                    job.lose(went_away(job.machine) if job.machine else "there is no machine in the cluster")
