"""``tvm.contrib.popen_pool``: calls functions in worker processes that may hang or crash."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from enum import IntEnum
from functools import partial
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple

import cloudpickle

from compiler.ir.error import ArgumentError, TVMError, UnavailableError
from compiler.runtime.machine import available_cores

__all__ = ["MapResult", "PopenPoolExecutor", "PopenWorker", "StatusKind"]

Output = int | IO[Any] | None
"""Where a process writes to, as ``subprocess.Popen`` takes it."""


class StatusKind(IntEnum):
    """How a call of a pool ended."""

    RUNNING = 0
    COMPLETE = 1
    EXCEPTION = 2
    TIMEOUT = 3


class MapResult(NamedTuple):
    """How a call ended, and what it returned: the exception where there is no result."""

    status: StatusKind
    value: Any


class PopenWorker:
    """A process that makes calls, one after another; it is started by the first one.

    ``initializer`` is called in each new process first; a new one takes over after ``maximum_uses`` calls.
    """

    def __init__(
        self,
        initializer: Callable[..., object] | None = None,
        initargs: Sequence[object] = (),
        maximum_uses: int | None = None,
        stdout: Output = None,
        stderr: Output = None,
    ) -> None:
        self._initializer = initializer
        self._initargs = tuple(initargs)
        self._maximum_uses = maximum_uses
        self._outputs: tuple[Output, Output] = (stdout, stderr)
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._uses = 0
        self._timeout: float | None = None
        if initializer is not None and not callable(initializer):
            raise ArgumentError("PopenWorker: initializer must be callable")

    def send(
        self,
        fn: Callable[..., object],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        timeout: float | None = None,
    ) -> None:
        """Begin a call; after ``timeout`` seconds :meth:`recv` gives up."""
        call = cloudpickle.dumps((fn, tuple(args), dict(kwargs or {})))
        if self._maximum_uses is not None and self._uses >= self._maximum_uses:
            self.kill()
        if self._process is None:
            self._start()
        self._uses += 1
        self._timeout = timeout
        assert self._pipe is not None
        self._pipe.send_bytes(call)

    def recv(self) -> Any:
        """Wait for the call that was begun, and return what it returned.

        Raises
        ------
        Exception
            The one that the call ended with.
        TimeoutError
            If it takes too long: the process is ended then.
        ChildProcessError
            If the process ended in the middle of it.
        TVMError
            If no call is in progress.
        """
        if self._pipe is None:
            raise TVMError("PopenWorker.recv: no call is in progress; call send first")
        try:
            if not self._pipe.poll(self._timeout):
                self.kill()
                raise TimeoutError(f"PopenWorker: the call took more than {self._timeout} s")
            returned, value = pickle.loads(self._pipe.recv_bytes())
        except (EOFError, ConnectionError):
            self.kill()
            raise ChildProcessError("PopenWorker: the process exited during the call") from None
        if returned:
            return value
        raise value

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def join(self, timeout: float | None = None) -> None:
        """Let the process end by itself, and wait for that, ``timeout`` seconds at most."""
        if self._process is not None and self._pipe is not None:
            self._pipe.close()
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                return
            self._process, self._pipe = None, None

    def kill(self) -> None:
        """End the process at once; the next call starts a new one."""
        if self._process is not None and self._pipe is not None:
            self._pipe.close()
            self._process.kill()
            self._process.wait()
        self._process, self._pipe = None, None
        self._uses = 0

    def _start(self) -> None:
        ours, theirs = Pipe()
        root = str(Path(__file__).parents[__name__.count(".")])
        paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "compiler.classic.contrib.popen_worker", str(theirs.fileno())]
        try:
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdout=self._outputs[0], stderr=self._outputs[1],
                env=os.environ | {"PYTHONPATH": paths},
            )  # fmt: skip
        except OSError as refused:
            raise UnavailableError(f"PopenWorker: cannot start a process: {refused.strerror}") from None
        finally:
            theirs.close()
        self._pipe = ours
        ours.send(sys.path)
        if self._initializer is not None:
            ours.send_bytes(cloudpickle.dumps((self._initializer, self._initargs, {})))
            self.recv()

    def __del__(self) -> None:
        self.kill()


class PopenPoolExecutor:
    """Several processes, by default one for each core, that make calls at the same time.

    ``initializer`` is called in each new process first; a new one takes over after ``maximum_process_uses`` calls.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        timeout: float | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: Sequence[object] = (),
        maximum_process_uses: int | None = None,
        stdout: Output = None,
        stderr: Output = None,
    ) -> None:
        self._threads = ThreadPoolExecutor(max_workers or available_cores())
        self._timeout = timeout
        self._new_worker = partial(PopenWorker, initializer, initargs, maximum_process_uses, stdout, stderr)
        self._idle: list[PopenWorker] = []
        self._lock = threading.Lock()

    def submit(self, fn: Callable[..., object], *args: object, **kwargs: object) -> Future[Any]:
        """Begin a call as soon as a process is free; the future ends with ``TimeoutError`` where it took too long."""
        return self._threads.submit(self._call, fn, args, kwargs)

    def map_with_error_catching(self, fn: Callable[..., object], iterator: Iterable[object]) -> Iterable[MapResult]:
        """Call a function for each of several values."""
        futures = [self.submit(fn, value) for value in iterator]
        return (_map_result(future) for future in futures)

    def shutdown(self, wait: bool = True) -> None:
        """End the processes; if ``wait``, after the calls that run."""
        self._threads.shutdown(wait)
        with self._lock:
            while self._idle:
                self._idle.pop().kill()

    def _call(self, fn: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
        with self._lock:
            worker = self._idle.pop() if self._idle else self._new_worker()
        try:
            worker.send(fn, args, kwargs, self._timeout)
            return worker.recv()
        finally:
            with self._lock:
                self._idle.append(worker)

    def __enter__(self) -> PopenPoolExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    def __del__(self) -> None:
        self.shutdown(wait=False)


def _map_result(future: Future[Any]) -> MapResult:
    error = future.exception()
    if error is None:
        return MapResult(StatusKind.COMPLETE, future.result())
    return MapResult(StatusKind.TIMEOUT if isinstance(error, TimeoutError) else StatusKind.EXCEPTION, error)
