"""The worker machine's side: its Dask worker runs jobs in the local sandbox.

The worker process neither runs scripts nor decodes their messages.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from distributed import Queue, get_client, get_worker

from app.cluster import messages
from app.cluster.messages import Assignment, Cancel, Ended, Facts, Interrupt, Over, Report, Said, Started
from app.errors import RequestError
from app.jobs.cores import Cores
from app.locks import try_lock
from app.sandbox import Job, Outcome, Runner, SandboxError
from app.store.uploads import Uploads

ASSIGNED_SECONDS = 10.0
"""How long a started task waits for its job from the server."""
HEARD_SECONDS = 60.0
"""How long a report waits for space in the queue."""
POLL_SECONDS = 0.02


class Host:
    """The local sandbox and files of a worker machine.

    Parameters
    ----------
    runner : Runner
        The local sandbox.
    uploads : Uploads
        Uploaded files that jobs read, fetched from the shared store.
    facts : Facts
        Description of this machine for the servers.
    """

    def __init__(self, runner: Runner, uploads: Uploads, facts: Facts) -> None:
        self._runner = runner
        self._uploads = uploads
        self.facts = facts
        self._measuring = threading.Lock()
        self._cores = Cores(self._measuring.locked)

    def start(self, assignment: Assignment) -> Job:
        """Start a job in the sandbox.

        Raises
        ------
        SandboxError
            If no process is available.
        RequestError
            If a stored file is unavailable.
        """
        stored = {name: self._uploads.find(name, file) for name, file in assignment.stored.items()}
        limits = self._cores.assign(assignment.limits)
        return self._runner.start(assignment.request, {**assignment.files, **stored}, limits)

    def close(self) -> None:
        """End all jobs."""
        self._runner.close()

    @contextlib.contextmanager
    def measuring(self) -> Iterator[None]:
        """Hold the machine-wide lock on measurements, across all worker processes of the machine."""
        path = Path(tempfile.gettempdir(), f"strata-measuring-{os.getuid()}")
        with self._measuring, path.open("w") as file:
            while not try_lock(file.fileno()):
                time.sleep(POLL_SECONDS)
            yield


_hosts: list[Host] = []
"""The host of this process, after :func:`become`."""


def become(host: Host) -> None:
    """Set the host that this process's Dask worker runs jobs on."""
    _hosts[:] = [host]


def perform(channel: str, measures: bool) -> None:
    """Run one job; the only function that workers allow Dask to call.

    Parameters
    ----------
    channel : str
        Name of the queue of reports to the server.
    measures : bool
        Whether the job measures time, and needs the machine for itself.
    """
    [host] = _hosts
    with host.measuring() if measures else contextlib.nullcontext(), contextlib.ExitStack() as release:
        client = get_client()
        reports = Queue(channel, client=client)
        release.callback(reports.close)
        orders = Queue(f"{channel}-{secrets.token_hex(8)}", client=client)
        release.callback(orders.close)
        _Performance(host, reports, orders).perform()


class _Performance:
    """The execution of one job, with a queue of orders and one of reports."""

    def __init__(self, host: Host, reports: Queue, orders: Queue) -> None:
        self._host = host
        self._reports = reports
        self._orders = orders

    def perform(self) -> None:
        """Request the job, run it, and report its messages and outcome."""
        machine = self._host.facts.machine
        self._report(Started(machine, get_worker().address, self._orders.name))
        order = messages.decode_order(self._orders.get(timeout=ASSIGNED_SECONDS))
        if isinstance(order, Assignment):
            outcome = self._run(order)
        else:
            outcome = Outcome(status="cancelled", detail="cancelled")
        self._report(Ended(msgspec.structs.replace(outcome, machine=machine)))

    def _run(self, assignment: Assignment) -> Outcome:
        try:
            job = self._host.start(assignment)
        except (SandboxError, RequestError, ValueError) as error:
            return Outcome(status="setup", detail=str(error))
        obeying = threading.Thread(target=self._obey, args=(job,), name="orders", daemon=True)
        obeying.start()
        try:
            with contextlib.closing(job.messages()) as sent:  # type: ignore[type-var]
                for message in sent:
                    self._report(Said(message))
        finally:
            self._orders.put(messages.encode(Over()))
            obeying.join()
        return job.outcome

    def _obey(self, job: Job) -> None:
        """Carry out the orders of the server until the job ends."""
        while True:
            match messages.decode_order(self._orders.get()):
                case Interrupt():
                    job.interrupt()
                case Cancel():
                    job.cancel()
                case Over():
                    return

    def _report(self, report: Report) -> None:
        self._reports.put(messages.encode(report), timeout=HEARD_SECONDS)
