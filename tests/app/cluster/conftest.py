"""A cluster on this machine: a scheduler of Dask's, and workers of ours with a sandbox each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from app import create_app
from tests.app.store.servers import credentials, point_at
from tests.app.store.servers import object_store as object_store
from tests.ports import free_port
from tests.renderer import renderer as renderer

pytest.importorskip("distributed")
pytest.importorskip("cryptography")
NAMES = ("east", "south", "west")
"""Of the machines: two of them go away in tests."""
PROJECT = Path(__file__).parents[3]


def start(module: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start a module of Python's."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=PROJECT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str], by: int = signal.SIGTERM) -> None:
    """End a process, and read what it still wrote."""
    process.send_signal(by)
    process.communicate(timeout=60)


class Machines:
    """A scheduler and the machines that work for it.

    Parameters
    ----------
    directory : Path
        Where machines and servers keep files of their own.
    object_store : str
        Address of the S3 that they share.
    """

    def __init__(self, directory: Path, object_store: str) -> None:
        self.directory = directory
        self.environment = credentials(object_store)
        self.store = "s3://strata/files"
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self._scheduler = self._start_scheduler()
        self.workers: dict[str, subprocess.Popen[str]] = {}

    def _start_scheduler(self) -> subprocess.Popen[str]:
        options = ("--host", self.address, "--no-dashboard", "--preload", "app.cluster.pickles")
        return start("distributed.cli.dask_scheduler", *options)

    def stop_scheduler(self) -> None:
        """Let the scheduler go away without a word."""
        end(self._scheduler, signal.SIGKILL)

    def start_scheduler(self) -> None:
        """Start it again at the same address, and wait until the machines work for it."""
        self._scheduler = self._start_scheduler()
        for name in self.workers:
            self._wait_for(name)

    def join(self, *names: str) -> None:
        """Start machines, and wait until they work."""
        for name in names:
            self.workers[name] = start(
                "app.cluster",
                **self.environment,
                STRATA_SCHEDULER=self.address,
                STRATA_STORE=self.store,
                STRATA_DATA_DIR=str(self.directory / name),
                STRATA_MACHINE=name,
                STRATA_POOL="1",
                STRATA_COMPILING="2",
            )
        for name in names:
            self._wait_for(name)

    def _wait_for(self, name: str) -> None:
        output = self.workers[name].stdout
        assert output is not None
        assert f"as {name}" in output.readline()

    def kill(self, name: str) -> None:
        """Let a machine go away without a word."""
        end(self.workers.pop(name), signal.SIGKILL)

    def server(self, name: str, **settings: object) -> Flask:
        """Return a server whose scripts run on the machines."""
        given = {"SCHEDULER": self.address, "STORE": self.store, "DATA_DIR": self.directory / name, "RATE_LIMIT": 0}
        return create_app(given | settings)

    def close(self) -> None:
        """End everything."""
        for process in (*self.workers.values(), self._scheduler):
            end(process)


@pytest.fixture(scope="package")
def machines(tmp_path_factory: pytest.TempPathFactory, object_store: str) -> Iterator[Machines]:
    """A cluster."""
    cluster = Machines(tmp_path_factory.mktemp("cluster"), object_store)
    with pytest.MonkeyPatch.context() as patch:
        point_at(object_store, patch)
        try:
            cluster.join(*NAMES)
            yield cluster
        finally:
            cluster.close()
