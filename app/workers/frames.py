"""The protocol between the server and a rendering process: length-prefixed MessagePack frames."""

from __future__ import annotations

import socket
import struct
import time
from typing import Generic, TypeVar

import msgspec

from app.jobs.answers import StoredAnswer
from app.workers.tasks import Reply, Task

_LENGTH = struct.Struct("<Q")
MAX_CALL, MAX_RESULT = 32 << 20, 12 << 20
"""Length of the longest frame to a worker, and of the longest back; ResNet-18's page has 1 MiB."""


class Call(msgspec.Struct, frozen=True):
    """Server to worker: perform a task."""

    task: Task
    answers: list[str]
    """Keys of the answers that it is about."""
    sent: list[StoredAnswer] = []
    """Those of them that the worker may not have."""


class Missing(msgspec.Struct, frozen=True, tag=True):
    """Worker to server: send these answers too."""

    keys: list[str]


class Done(msgspec.Struct, frozen=True, tag=True):
    """Worker to server: the reply to the task."""

    reply: Reply


class Refused(msgspec.Struct, frozen=True, tag=True):
    """Worker to server: an error of a request."""

    kind: str
    """Name of the class in :mod:`app.errors`."""
    message: str
    expected: str | None = None


class Broken(msgspec.Struct, frozen=True, tag=True):
    """Worker to server: an error of the explorer itself."""

    traceback: str


Result = Missing | Done | Refused | Broken
Frame = TypeVar("Frame")

of_calls: msgspec.msgpack.Decoder[Call] = msgspec.msgpack.Decoder(Call)
of_results: msgspec.msgpack.Decoder[Result] = msgspec.msgpack.Decoder(Result)
of_process_ids: msgspec.msgpack.Decoder[int] = msgspec.msgpack.Decoder(int)


class FrameTooLong(Exception):
    """What would be sent is longer than a frame may be."""


class Channel(Generic[Frame]):
    """One end of a socket.

    Parameters
    ----------
    end : socket.socket
    decoder : msgspec.msgpack.Decoder
        Of what the other end sends.
    longest : int
        Length of the longest frame that is sent.
    """

    def __init__(self, end: socket.socket, decoder: msgspec.msgpack.Decoder[Frame], longest: int) -> None:
        self._end = end
        self._longest = longest
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = decoder

    def send(self, frame: object, deadline: float | None = None) -> None:
        """Send an object.

        Parameters
        ----------
        frame : object
        deadline : float, optional
            On the monotonic clock, in seconds.

        Raises
        ------
        FrameTooLong
            It is not sent.
        OSError
            The other end is gone, or did not read in time.
        """
        body = self._encoder.encode(frame)
        if len(body) > self._longest:
            raise FrameTooLong(f"{len(body):,} bytes; at most {self._longest:,} are possible")
        self._end.settimeout(_left(deadline))
        self._end.sendall(_LENGTH.pack(len(body)) + body if len(body) < 1 << 16 else _LENGTH.pack(len(body)))
        if len(body) >= 1 << 16:
            self._end.sendall(body)

    def receive(self, deadline: float | None = None) -> Frame:
        """Return the next object.

        Raises
        ------
        EOFError
            The other end is gone.
        OSError
            It did not send in time.
        """
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size, deadline))
        return self._decoder.decode(self._read(length, deadline))

    def _read(self, size: int, deadline: float | None) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        while view:
            self._end.settimeout(_left(deadline))
            count = self._end.recv_into(view)
            if not count:
                raise EOFError("the peer has closed the connection")
            view = view[count:]
        return buffer


def _left(deadline: float | None) -> float | None:
    """Return the seconds until a deadline, at least a moment: a timeout of 0 would mean not to wait at all."""
    return None if deadline is None else max(1e-3, deadline - time.monotonic())
