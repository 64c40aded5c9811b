"""A worker machine of a cluster, which Dask gives jobs."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import tempfile

import dask
from distributed import Worker

from app import __version__, logs
from app.cluster import messages, pickles
from app.cluster.host import Host, become
from app.cluster.messages import COMPILE, FACTS, MEASURE, Facts
from app.config import Config, ConfigurationError
from app.jobs.local_runner import start_local_runner
from app.sandbox import Machine
from app.store.shared_files import SharedFiles
from app.store.uploads import Uploads
from compiler.runtime.machine import this_machine

log = logging.getLogger(__name__)
JOIN_SECONDS = 60.0
"""How long the scheduler may take to answer."""
REFUSED = (
    "run",
    "run_coroutine",
    "actor_execute",
    "actor_attribute",
    "plugin-add",
    "upload_file",
    "update_data",
    "benchmark_disk",
    "benchmark_memory",
    "benchmark_network",
)
"""Requests of Dask's that a worker of ours does not answer: they run code, or take memory, of whoever asks."""


class JobWorker(Worker):  # type: ignore[misc]
    """A Dask worker that performs jobs, and nothing else."""

    def __init__(self, address: str, host: Host) -> None:
        super().__init__(
            address,
            nthreads=host.facts.compiling + 1,
            resources={COMPILE: host.facts.compiling, MEASURE: 1, messages.processor(host.facts.machine.cpu): 1},
            name=f"{host.facts.machine.host}-{socket.gethostname()}-{id(host)}",
            startup_information={FACTS: lambda _: messages.encode(host.facts)},
            memory_limit=0,
            dashboard=False,
            death_timeout=JOIN_SECONDS,
            local_directory=tempfile.mkdtemp(prefix="strata-dask-"),
        )
        for request in REFUSED:
            self.handlers.pop(request)


def make_host(config: Config) -> Host:
    """Start this machine's sandbox.

    Raises
    ------
    ConfigurationError
        Settings are missing, there is no sandbox here, or none that is strict enough.
    """
    if not config.scheduler or not config.store:
        raise ConfigurationError("set STRATA_SCHEDULER to the scheduler and STRATA_STORE to the store of files")
    runner = start_local_runner(config)
    if not (config.unsafe_local or config.unsafe_public or runner.tier.safe_for_public):
        runner.close()
        raise ConfigurationError(f"refusing to run others' scripts with {runner.tier}")
    uploads = Uploads(
        config.data_dir / "uploads",
        config.upload_bytes,
        config.uploads_bytes,
        config.reserve_bytes,
        SharedFiles(config.store),
    )
    machine = Machine(host=config.machine or socket.gethostname(), cpu=this_machine().processor)
    facts = Facts(machine=machine, version=__version__, tier=runner.tier, compiling=config.compiling)
    return Host(runner, uploads, facts)


async def work(config: Config, host: Host) -> None:
    """Work for the servers until interrupted; a scheduler that is restarted is joined again.

    Raises
    ------
    OSError, TimeoutError
        The scheduler does not answer for :data:`JOIN_SECONDS`.
    """
    pickles.restrict()
    become(host)
    interrupted = asyncio.Event()
    loop = asyncio.get_running_loop()
    for ends in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(ends, interrupted.set)
    while not interrupted.is_set():
        async with JobWorker(config.scheduler, host) as worker:
            print(f"Strata works for {config.scheduler} as {host.facts.machine.host} - Ctrl+C ends it", flush=True)
            ending = asyncio.create_task(interrupted.wait())
            gone = asyncio.create_task(worker.finished())
            await asyncio.wait((ending, gone), return_when=asyncio.FIRST_COMPLETED)
            ending.cancel()
        if not interrupted.is_set():
            log.warning("the scheduler %s has gone; waiting for it", config.scheduler)


def run() -> None:
    """Read the settings and work until interrupted; exit with a sentence where that is impossible."""
    dask.config.set({"distributed.worker.daemon": False})
    try:
        config = Config.read()
        logs.configure()
        host = make_host(config)
    except ConfigurationError as error:
        sys.exit(f"strata: {error}")
    try:
        asyncio.run(work(config, host))
    except (OSError, ValueError, RuntimeError, TypeError) as error:  # TypeError: TLS without certificates
        sys.exit(f"strata: the scheduler {config.scheduler} cannot be used: {error}")
    finally:
        host.close()
