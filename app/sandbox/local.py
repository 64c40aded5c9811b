"""Runs each request in a fresh process of the current user, for trusted scripts where no sandbox is available.

This is not a sandbox.  A script has all permissions of its user; only its time and output are limited.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

from app.sandbox import handler, wire
from app.sandbox.files import Files, StoredFile, check_files
from app.sandbox.handler import EXIT_OUT_OF_MEMORY
from app.sandbox.interface import MessageReader, Outcome, Status
from app.sandbox.limits import Limits
from app.sandbox.readable import SEARCHED, python
from app.sandbox.scratch import Scratch, sweep
from app.sandbox.tier import Tier

_WHY = "asked to run without"
_CONSOLE_BYTES = 8192
_CHUNK_BYTES = 1 << 16
_LINGER_SECONDS = 0.2
"""How long to wait for output after the process has exited; another process may hold its pipe open."""


class LocalJob(MessageReader):
    """A request that is handled by a fresh process."""

    def __init__(self, name: str, request: bytes, files: Files, limits: Limits) -> None:
        self._limits = limits
        self._frames = wire.FrameReader(limits)
        self._chunks: queue.Queue[bytes] = queue.Queue(maxsize=4)
        self._left = 8 * _CHUNK_BYTES  # capacity of the queue and the pipe when the process exits
        self._stopped: tuple[Status, str] | None = None
        self._interrupted = False
        self._scratch = Scratch()
        root = self._scratch.path
        work = root / "work"
        work.mkdir()
        for file_name, content in files.items():
            if isinstance(content, StoredFile):
                shutil.copyfile(content.path, work / file_name)
            else:
                (work / file_name).write_bytes(content)
        (root / "request").write_bytes(request)
        self._console: IO[bytes] = (root / "console").open("w+b")
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            [*python("app.sandbox.local"), name, str(root)],
            cwd=work,
            env={**os.environ, "PYTHONPATH": SEARCHED},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._console,
            start_new_session=True,
        )
        late: tuple[Status, str] = ("timeout", f"more than {limits.wall_seconds:g} s")
        self._clock = threading.Timer(limits.wall_seconds, self._stop, late)
        self._clock.daemon = True
        self._clock.start()
        threading.Thread(target=self._pump, daemon=True).start()

    def interrupt(self) -> None:
        """Kill the process; its messages so far are the result."""
        self._interrupted = True
        self._stop("timeout", "it was asked to end")

    def cancel(self) -> None:
        """Kill the process and its children if it is running."""
        self._stop("cancelled", "cancelled")

    def _stop(self, status: Status, detail: str) -> None:
        if self._stopped is not None or self._process.poll() is not None:
            return
        self._stopped = status, detail
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()

    def _pump(self) -> None:
        """Copy output to the queue, then an empty chunk; runs in a thread, as not every system can poll pipes."""
        assert self._process.stdout is not None
        with self._process.stdout as output:
            data = b" "
            while data and self._outcome is None:
                data = os.read(output.fileno(), _CHUNK_BYTES)
                while self._outcome is None:
                    with contextlib.suppress(queue.Full):
                        self._chunks.put(data, timeout=_LINGER_SECONDS)
                        break

    def _next(self) -> bytes | None:
        if self._outcome is not None:
            return None
        while True:
            try:
                message = self._frames.next()
            except wire.OutputLimit as error:
                self._stop("output", str(error))
                break
            if message is not None:
                return message
            data = self._wait()
            if data:
                self._frames.feed(data)
            elif not self._frames.ended:
                self._frames.end()
            else:
                break
        self._finish()
        return None

    def _wait(self) -> bytes:
        """Return the next output of the process; empty after it has exited and everything was read."""
        while self._left > 0:
            ended = self._process.poll() is not None
            try:
                data = self._chunks.get(timeout=_LINGER_SECONDS)
            except queue.Empty:
                if ended:
                    return b""
            else:
                self._left -= len(data) if ended else 0
                if not data:
                    self._left = 0
                return data
        return b""

    def _finish(self) -> None:
        while self._wait():
            continue
        code = self._process.wait()
        self._clock.cancel()
        self._console.seek(0)
        status, detail = self._judge(code)
        self._outcome = Outcome(
            status=status,
            detail=detail,
            signal=-code if code < 0 else None,
            exit_code=code if code >= 0 else None,
            wall_seconds=time.monotonic() - self._started,
            interrupted=self._interrupted,
            console=self._console.read(_CONSOLE_BYTES).decode(errors="replace"),
        )
        self._frames.clear()
        self._console.close()
        self._scratch.remove()

    def _judge(self, code: int) -> tuple[Status, str]:
        if code == 0:
            return "ok", ""
        if self._stopped is not None:
            return self._stopped
        if code == EXIT_OUT_OF_MEMORY:
            return "memory", "out of memory"
        return "crash", f"exit code {code}"


class UnsafeLocal:
    """Runs each job in a fresh process of the current user, without isolation."""

    def __init__(self, handler: str) -> None:
        sweep()
        self.tier = Tier(reasons={"sandbox": _WHY})
        self._handler = handler
        self._jobs: list[LocalJob] = []

    def start(self, request: bytes, files: Files | None = None, limits: Limits | None = None) -> LocalJob:
        """Start a job.

        Raises
        ------
        ValueError
            If a file name is not plain, or the files are too large.
        """
        limits, files = limits or Limits(), files or {}
        check_files(files, limits)
        job = LocalJob(self._handler, request, files, limits)
        self._jobs = [running for running in self._jobs if running._outcome is None] + [job]
        return job

    def close(self) -> None:
        """End all jobs."""
        for job in self._jobs:
            job.cancel()


def main() -> None:
    """Run one request; frames are written to the original standard output, which is redirected to standard error."""
    name, directory = sys.argv[1:]
    output = os.dup(1)
    os.dup2(2, 1)
    request = Path(directory, "request").read_bytes()
    sys.exit(handler.serve(handler.load(name), request, output))
