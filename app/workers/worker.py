"""The server's handle of a rendering process and its fork server."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import threading
from collections import deque

import msgspec

from app import logs
from app.errors import TooLarge
from app.patience import Patience
from app.sandbox.readable import SEARCHED, facts
from app.workers.fork_server import Settings
from app.workers.frames import MAX_CALL, Call, Channel, FrameTooLong, Refusal, Result, of_process_ids, of_results

TASK_SECONDS = 20.0
"""Time limit per task, without the time in which the worker waits for a processor."""
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "MALLOC_ARENA_MAX": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": os.defpath,
    "PYTHONPATH": SEARCHED,
}
"""The complete environment of workers; that of the server may contain secrets."""
START_SECONDS = 60.0
REMEMBERED = 16
"""How many answers a worker is assumed to have cached."""


class WorkerGone(Exception):
    """A worker ended during a task: it exceeded a limit or was cancelled."""


class ForkServer:
    """The server's handle of the fork server."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "app.workers.fork_server", str(theirs.fileno()), msgspec.json.encode(settings)],
                cwd=SEARCHED,
                env=ENVIRONMENT | facts() | logs.inherited(),
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def fork(self) -> Worker:
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                socket.send_fds(self._control, [b"fork"], [theirs.fileno()])
            pid = Channel(ours, of_process_ids, MAX_CALL).receive(
                Patience(START_SECONDS, self.pid, "a rendering process")
            )
        except (EOFError, OSError) as error:
            ours.close()
            raise WorkerGone("a rendering process did not start") from error
        return Worker(self, pid, ours)

    def kill(self, pid: int) -> None:
        with contextlib.suppress(OSError), self._lock:
            self._control.send(str(pid).encode())

    def close(self) -> None:
        self._control.close()
        self._process.kill()
        self._process.wait()


class Worker:
    """The server's handle of a rendering process, with the keys of the answers that it should have cached."""

    def __init__(self, parent: ForkServer, pid: int, end: socket.socket) -> None:
        self.pid = pid
        self._parent = parent
        self._end = end
        self._channel = Channel(end, of_results, MAX_CALL)
        self.answers: deque[str] = deque(maxlen=REMEMBERED)
        self.used = False

    @property
    def alive(self) -> bool:
        """Whether the process is alive; between tasks its socket becomes readable only when it exits."""
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        return not poll.poll(0)

    def call(self, call: Call) -> Result:
        self.used, patience = True, Patience(TASK_SECONDS, self.pid)
        try:
            self._channel.send(call, patience)
            return self._channel.receive(patience)
        except FrameTooLong as error:
            return Refusal(TooLarge.__name__, f"this is too large to be shown: {error}")
        except (EOFError, OSError) as error:
            self.kill()
            raise WorkerGone from error

    def kill(self) -> None:
        self._parent.kill(self.pid)
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._end.close()
