"""The worker machine's side: its Dask worker runs jobs in the local sandbox.

A script never runs in the worker's process, nor is anything that it sent decoded there.
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
from app.cluster.messages import (
    Assignment,
    Cancel,
    ChildMessage,
    EndOfOrders,
    Facts,
    Interrupt,
    JobEnded,
    JobStarted,
    Report,
)
from app.errors import RequestError
from app.jobs.cores import Cores
from app.locks import try_lock
from app.sandbox import Job, Outcome, Runner, SandboxError
from app.store.uploads import Uploads

ASSIGNED_SECONDS = 10.0
"""How long a server may take to hand over the job that it has got a slot for."""
HEARD_SECONDS = 60.0
"""How long a server may take to read what a job sent."""
POLL_SECONDS = 0.02


class Host:
    """Performs jobs on this machine.

    Parameters
    ----------
    runner : Runner
        The sandbox of this machine.
    uploads : Uploads
        Stored files that jobs read, fetched from the store that the servers share.
    facts : Facts
        What servers are told of this machine.
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
            No process can be had to work on it.
        RequestError
            A stored file cannot be had.
        """
        stored = {name: self._uploads.find(name, file) for name, file in assignment.stored.items()}
        limits = self._cores.assign(assignment.limits)
        return self._runner.start(assignment.request, {**assignment.files, **stored}, limits)

    def close(self) -> None:
        """End all jobs."""
        self._runner.close()

    @contextlib.contextmanager
    def measuring(self) -> Iterator[None]:
        """Be the only one that measures on this machine, whichever of its workers others ask."""
        path = Path(tempfile.gettempdir(), f"strata-measuring-{os.getuid()}")
        with self._measuring, path.open("w", encoding="utf-8") as file:
            while not try_lock(file.fileno()):
                time.sleep(POLL_SECONDS)
            yield


_hosts: list[Host] = []
"""This process's own, once :func:`become` was called."""


def become(host: Host) -> None:
    """Let this process's Dask worker perform jobs by a host."""
    _hosts[:] = [host]


def perform(channel: str, measures: bool) -> None:
    """Perform one job; the function that servers ask Dask to call, and the only one that workers accept.

    Parameters
    ----------
    channel : str
        Name of the queue that the server listens to.
    measures : bool
        Whether time is measured.
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
    """One job, between the queues of its server."""

    def __init__(self, host: Host, reports: Queue, orders: Queue) -> None:
        self._host = host
        self._reports = reports
        self._orders = orders

    def perform(self) -> None:
        """Ask for the job, start it, and report all that it sends and how it ends."""
        machine = self._host.facts.machine
        self._report(JobStarted(machine, get_worker().address, self._orders.name))
        order = messages.decode_order(self._orders.get(timeout=ASSIGNED_SECONDS))
        if isinstance(order, Assignment):
            outcome = self._run(order)
        else:
            outcome = Outcome(status="cancelled", detail="cancelled")
        self._report(JobEnded(msgspec.structs.replace(outcome, machine=machine)))

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
                    self._report(ChildMessage(message))
        finally:
            self._orders.put(messages.encode(EndOfOrders()))
            obeying.join()
        return job.outcome

    def _obey(self, job: Job) -> None:
        """Do what the server says, until the job has ended."""
        while True:
            match messages.decode_order(self._orders.get()):
                case Interrupt():
                    job.interrupt()
                case Cancel():
                    job.cancel()
                case EndOfOrders():
                    return

    def _report(self, report: Report) -> None:
        self._reports.put(messages.encode(report), timeout=HEARD_SECONDS)
