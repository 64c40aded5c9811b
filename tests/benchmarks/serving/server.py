"""The server as users start it, ``python -m app``, on a port and a data directory of its own."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from app.sandbox import syscalls
from tests.benchmarks.serving.client import exchange
from tests.ports import free_port

PROJECT = Path(__file__).parents[3]
CORES = 2
"""What the server gets, where the machine has more."""
START_SECONDS = 60.0
END_SECONDS = 15.0


def first_cores() -> set[int]:
    """Return the CPUs that the server runs on: the first two that this process may use."""
    return set(sorted(os.sched_getaffinity(0))[:CORES])


def _prepare() -> None:
    """Give the server its CPUs, and let it end when the benchmark does, even if that is killed."""
    os.sched_setaffinity(0, first_cores())
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGTERM)


class Server:
    """A running server; as a context manager it ends with the block, and its data with it.

    Parameters
    ----------
    settings : mapping, optional
        Settings by their name in the environment, ``STRATA_…``.
    arguments : sequence of str
        Further arguments of ``python -m app``.

    Attributes
    ----------
    port : int
    pid : int
        Of the process that was started.
    data : Path
        Its data directory.
    """

    def __init__(self, settings: Mapping[str, str] | None = None, arguments: Sequence[str] = ()) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="strata-benchmark-"))
        self.data = self._folder / "data"
        self.port = free_port()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("STRATA_")}
        command = [sys.executable, "-m", "app", "--port", str(self.port), "--data", str(self.data), *arguments]
        self._log = open(self._folder / "log", "wb")  # noqa: SIM115 - it lives as long as the server
        self._process = subprocess.Popen(
            command,
            cwd=PROJECT,
            env={**inherited, **(settings or {})},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_prepare,
        )
        self.pid = self._process.pid

    def wait_until_healthy(self) -> None:
        """Wait for the first answer of the health check.

        Raises
        ------
        RuntimeError
            The server ended, or did not answer in time; carries the end of its log.
        """
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            try:
                if exchange(self.port, "GET", "/healthz", timeout=5.0).status == 200:
                    return
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
        raise RuntimeError(f"the server does not answer: {self.log()[-2000:]}")

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def log(self) -> str:
        """Return what the server wrote until now."""
        return (self._folder / "log").read_text(errors="replace")

    def close(self) -> None:
        """End the server and remove its data."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.wait_until_healthy()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
