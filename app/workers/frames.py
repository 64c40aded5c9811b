"""The protocol between the server and a rendering process: length-prefixed MessagePack frames."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

import msgspec

from app.jobs.answers import StoredAnswer
from app.patience import Patience
from app.workers.tasks import Reply, Task

_LENGTH = struct.Struct("<Q")
MAX_CALL, MAX_RESULT = 32 << 20, 12 << 20
"""Maximum frame length to and from a worker; for comparison, the page of ResNet-18 has 1 MiB."""


class Call(msgspec.Struct, frozen=True):
    """Server to worker: run a task."""

    task: Task
    answers: list[str]
    """Keys of the answers that the task reads."""
    sent: list[StoredAnswer] = []
    """The answers that the worker may not have cached."""


class MissingAnswers(msgspec.Struct, frozen=True, tag=True):
    """Worker to server: the answers of these keys are not cached; send the call again with them."""

    keys: list[str]


class TaskReply(msgspec.Struct, frozen=True, tag=True):
    """Worker to server: the result of the task."""

    reply: Reply


class Refusal(msgspec.Struct, frozen=True, tag=True):
    """Worker to server: the request is invalid."""

    kind: str
    """Name of the class in :mod:`app.errors`."""
    message: str
    expected: str | None = None


class TaskError(msgspec.Struct, frozen=True, tag=True):
    """Worker to server: an internal error."""

    traceback: str


Result = MissingAnswers | TaskReply | Refusal | TaskError
Frame = TypeVar("Frame")

of_calls: msgspec.msgpack.Decoder[Call] = msgspec.msgpack.Decoder(Call)
of_results: msgspec.msgpack.Decoder[Result] = msgspec.msgpack.Decoder(Result)
of_process_ids: msgspec.msgpack.Decoder[int] = msgspec.msgpack.Decoder(int)


class FrameTooLong(Exception):
    """A frame exceeds the maximum length."""


class Channel(Generic[Frame]):
    """One end of a socket that carries frames.

    Parameters
    ----------
    decoder : msgspec.msgpack.Decoder
        Decoder of received frames.
    longest : int
        Maximum length of sent frames.
    """

    def __init__(self, end: socket.socket, decoder: msgspec.msgpack.Decoder[Frame], longest: int) -> None:
        self._end = end
        self._longest = longest
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = decoder

    def send(self, frame: object, patience: Patience | None = None) -> None:
        """Send an object.

        Parameters
        ----------
        patience : Patience, optional
            How long the peer may take.

        Raises
        ------
        FrameTooLong
            If the frame is too long; nothing is sent then.
        OSError
            If the peer is gone or takes too long.
        """
        body = self._encoder.encode(frame)
        if len(body) > self._longest:
            raise FrameTooLong(f"{len(body):,} bytes; at most {self._longest:,} are possible")
        head = _LENGTH.pack(len(body))
        for part in (head + body,) if len(body) < 1 << 16 else (head, body):
            self._write(memoryview(part), patience)

    def receive(self, patience: Patience | None = None) -> Frame:
        """Return the next object.

        Raises
        ------
        EOFError
            If the peer closed the connection.
        OSError
            If the peer takes too long.
        """
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size, patience))
        return self._decoder.decode(self._read(length, patience))

    def _write(self, view: memoryview, patience: Patience | None) -> None:
        while view:
            view = view[self._within(patience, partial(self._end.send, view)) :]

    def _within(self, patience: Patience | None, move: Callable[[], int]) -> int:
        """Return how much was moved, as soon as something is."""
        while True:
            step = None if patience is None else patience.step()
            self._end.settimeout(step if step is None else max(step, 1e-3))  # 0 means non-blocking
            try:
                return move()
            except TimeoutError:
                if patience is not None and patience.over:
                    raise

    def _read(self, size: int, patience: Patience | None) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        while view:
            count = self._within(patience, partial(self._end.recv_into, view))
            if not count:
                raise EOFError("the peer has closed the connection")
            view = view[count:]
        return buffer
