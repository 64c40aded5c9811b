"""Sessions: what a program asks of a server."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from compiler.ir.error import ArgumentError, RPCError, RPCSessionTimeoutError
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.device import DEVICE_KINDS, Device
from compiler.runtime.device import device as as_device
from compiler.runtime.numpy_types import NumPyArray
from compiler.runtime.rpc.frames import PIECE, Bytes, Channel, ClosedError, DamagedError, EndedError
from compiler.runtime.rpc.handshake import MAX_TIMEOUT, connected, introduce, shared_secret
from compiler.runtime.rpc.messages import Code, Done, Failed, Reference, Request, extended, packed
from compiler.runtime.rpc.remote import Held, RemoteArray, RemoteDevice, RemoteExecutor, RemoteFunction, RemoteModule
from compiler.runtime.timing.measurement import BenchmarkResult

_PATIENCE = 300.0
"""Seconds to wait for a server that is busy with another session."""
_GRACE = 5.0
_BEHIND = 1.0
"""Seconds that this side may begin to count a session's time later than the server."""
_FREED = 1000
"""References that one request frees at most."""
_NUMBERS = itertools.count()


class RPCSession:
    """A session on a server; it ends when the program holds nothing of it any more, or by :meth:`close`.

    What fails on the server is an :class:`~compiler.ir.error.RPCError` that says where, and what was asked.
    """

    def __init__(self, channel: Channel, timeout: float = 0.0) -> None:
        self._channel = channel
        self._lock = threading.RLock()
        self._freed: list[int] = []
        self._ends = time.monotonic() + timeout if timeout else 0.0
        self._timeout = timeout
        self._is_closed = False
        self.number = next(_NUMBERS)
        self.peer = channel.peer

    def __enter__(self) -> RPCSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the session."""
        self._is_closed = True
        self._channel.close()

    # requests

    def ask(self, operation: str, *arguments: object, body: Bytes = b"", asked: str = "") -> Any:
        """Let the server carry out an operation and return its result.

        Raises RPCError if it fails; an ``RPCSessionTimeoutError`` if the time of the session is over.
        """
        return self._ask(operation, arguments, body, asked)[0]

    def _ask(
        self, operation: str, arguments: tuple[object, ...], body: Bytes = b"", asked: str = ""
    ) -> tuple[Any, bytearray]:
        name = f" {arguments[0]!r}" if arguments and isinstance(arguments[0], str) else ""
        words = asked or operation + name
        given = [packed(argument, self._extension) for argument in arguments]
        with self._lock:
            if self._is_closed:
                raise self._ended(ClosedError(), words)
            freed = self._freed[:_FREED]
            request = self._channel.encoded(Request(operation, given, freed))
            del self._freed[: len(freed)]
            try:
                if self._ends:
                    self._channel.sock.settimeout(max(self._ends - time.monotonic(), 0.0) + _GRACE)
                self._channel.send(request, body)
                answer, content = self._channel.receive(Done | Failed, self._decoded)  # type: ignore[arg-type]
            except BaseException as exc:
                self.close()  # so that a late answer is none to the next question
                if isinstance(exc, (EndedError, ClosedError, DamagedError, TimeoutError)):
                    raise self._ended(exc, words) from None
                raise
        if isinstance(answer, Failed):
            raise RPCError(f"{self.peer}: {words}: {answer.reason}")
        assert isinstance(answer, Done)
        return answer.value, content

    def _ended(self, error: Exception, words: str) -> RPCError:
        is_late = isinstance(error, EndedError) and error.is_late
        if self._ends and time.monotonic() >= self._ends - is_late * _BEHIND:
            return RPCSessionTimeoutError(f"{self.peer}: {words}: the session's {self._timeout:g} seconds are over")
        reason = str(error) if isinstance(error, (EndedError, DamagedError)) else "the session is closed"
        return (RPCSessionTimeoutError if is_late else RPCError)(f"{self.peer}: {words}: {reason}")

    def free(self, number: int) -> None:
        """Tell the server with the next request that something is not used any more."""
        self._freed.append(number)

    def _extension(self, value: object) -> msgspec.msgpack.Ext | None:
        if isinstance(value, RemoteDevice):
            self._require(value.session, value)
            return extended(Code.DEVICE, (value.device_type, value.device_id))
        if isinstance(value, (RemoteArray, RemoteFunction, RemoteModule, RemoteExecutor)):
            self._require(value.held.session, value)
            return extended(Code.REFERENCE, Reference(value.held.number))
        if isinstance(value, Device):
            raise ArgumentError(f"{value} is a device of this machine; remote.{value.kind}() is one of {self.peer}")
        if isinstance(value, (NDArray, np.ndarray)):
            raise ArgumentError(
                f"an array of this machine cannot be an argument on {self.peer}: use tvm.nd.array(x, remote.cpu())"
            )
        return None

    def _require(self, session: RPCSession, value: object) -> None:
        if session is not self:
            raise ArgumentError(f"{type(value).__name__} belongs to another session than that with {self.peer}")

    def _decoded(self, code: int, data: memoryview) -> object:
        if code == Code.TIMES:
            return BenchmarkResult(msgspec.msgpack.decode(data, type=list[float]))
        if code == Code.DEVICE:
            return RemoteDevice(*msgspec.msgpack.decode(data, type=tuple[int, int]), session=self)
        reference = msgspec.msgpack.decode(data, type=Reference)
        held = Held(self, reference.number)
        if reference.kind == "array":
            shape, dtype, *place = reference.about
            return RemoteArray(held, shape, dtype, RemoteDevice(*place, session=self))
        if reference.kind == "executor":
            return RemoteExecutor(held, *reference.about)
        return RemoteModule(held) if reference.kind == "module" else RemoteFunction(held)

    # arrays, in pieces

    def read(self, array: NDArray, size: int) -> bytearray:
        """Return the bytes of an array on the server."""
        return self._whole("read", array, bytearray(), size)

    def _whole(self, operation: str, owner: object, content: bytearray, size: int) -> bytearray:
        """Return all content, of which the beginning is here; RPCError if there is less of it than expected."""
        while len(content) < size:
            piece = self._ask(operation, (owner, len(content)))[1]
            if not piece:
                raise RPCError(f"{self.peer}: {operation}: it has {len(content)} bytes, not {size}")
            content += piece
        return content

    def write(self, array: NDArray, values: NumPyArray) -> None:
        """Write the bytes of an array on the server."""
        data = np.ascontiguousarray(values).reshape(-1).view("uint8").data
        for start in range(0, len(data), PIECE):
            self.ask("write", array, start, body=data[start : start + PIECE])

    # what programs call

    def get_function(self, name: str) -> RemoteFunction:
        """Return a function that is registered on the server."""
        function: RemoteFunction = self.ask("get_function", name)
        function.name = name
        return function

    def upload(self, data: bytearray | bytes | str | Path, target: str | None = None) -> None:
        """Send content, or a file at a path, to the session's folder, under its own name by default.

        Raises ArgumentError if content has no name, or the file cannot be read.
        """
        name, content = content_of(data, target)
        for start in range(0, max(len(content), 1), PIECE):
            self.ask("upload", name, start, body=memoryview(content)[start : start + PIECE])

    def download(self, path: str) -> bytearray:
        """Return what a file of the session contains."""
        size, content = self._ask("download", (path, 0))
        return self._whole("download", path, content, size)

    def remove(self, path: str) -> None:
        """Remove a file of the session."""
        self.ask("remove", path)

    def listdir(self, path: str) -> list[str]:
        """Return the names of the files of a folder, ``.`` for the session's own."""
        names: list[str] = self.ask("listdir", path)
        return names

    def load_module(self, path: str) -> RemoteModule:
        """Return what a library contains that was sent to the session."""
        module: RemoteModule = self.ask("load_module", path)
        return module

    def system_lib(self) -> RemoteModule:
        """Return the functions of the libraries that are linked into the server; see ``tvm.runtime.system_lib``."""
        module: RemoteModule = self.ask("system_lib")
        return module

    def device(self, dev_type: str | int, dev_id: int = 0) -> RemoteDevice:
        """Return a device of the server."""
        return RemoteDevice(as_device(dev_type, dev_id).device_type, dev_id, session=self)

    def cpu(self, dev_id: int = 0) -> RemoteDevice:
        """Return the server's CPU."""
        return self.device("cpu", dev_id)

    def __getattr__(self, name: str) -> Callable[..., RemoteDevice]:
        if any(name == kind.name or name in kind.also for kind in DEVICE_KINDS):
            return lambda dev_id=0: self.device(name, dev_id)
        raise AttributeError(f"RPCSession has no attribute {name!r}")


def content_of(data: bytearray | bytes | str | Path, target: str | None) -> tuple[str, Bytes]:
    """Return the name of a file to send, and its content."""
    if isinstance(data, (bytes, bytearray)):
        if not target:
            raise ArgumentError("upload: target must name the file to write when data is bytes")
        return target, data
    try:
        return target or Path(data).name, Path(data).read_bytes()
    except OSError as exc:
        raise ArgumentError(f"upload: cannot read {str(data)!r}: {exc.strerror}") from None


def session_on(
    host: str, port: int, key: str = "", session_timeout: float = 0, secret: str | None = None, asked: str = "connect"
) -> RPCSession:
    """Return a session on a server.

    Parameters
    ----------
    key : str
        That of the server, or a tracker's ticket for it.
    session_timeout : float
        Seconds after which the server ends the session; 0 for no limit.
    secret : str, optional
        By default the one of the environment.

    Raises RPCError if nobody answers, or the server refuses.
    """
    if not 0 <= session_timeout <= MAX_TIMEOUT:
        raise ArgumentError(f"connect: session_timeout must be seconds, or 0 for no limit, got {session_timeout}")
    known = shared_secret(secret)
    channel = connected(host, port, asked)
    try:
        channel.sock.settimeout(_PATIENCE)
        introduce(channel, "session", key, known, session_timeout)
        channel.sock.settimeout(None)
    except TimeoutError:
        channel.close()
        raise RPCError(f"{channel.peer}: {asked}: no answer: it is busy with another session") from None
    except RPCError as exc:
        channel.close()
        raise RPCError(str(exc) if str(exc).startswith(channel.peer) else f"{channel.peer}: {asked}: {exc}") from None
    return RPCSession(channel, session_timeout)
