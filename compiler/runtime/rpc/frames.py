"""Frames: how a message, and the bytes that go with it, cross a connection.

::

    4 bytes    "SRP1"
    1 byte     0, or 1 for the last word about a session whose process ended
    4 bytes    length of the message, at most 1 MiB (4 KiB until both sides have introduced themselves)
    4 bytes    length of the body, at most 64 MiB (then 0)
    message    MessagePack of a typed structure
    body       elements of an array or a part of a file
    32 bytes   HMAC-SHA256 of the frame's number and all of it, where the two sides share a secret

Nothing is allocated before it has arrived, and nothing that arrives is executed by being read.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import select
import socket
import struct
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from compiler.ir.error import RPCError

T = TypeVar("T")
Bytes = bytes | bytearray | memoryview

PIECE = 1 << 26
"""The most bytes that a frame carries beside its message: larger arrays and files are sent in pieces."""
_MARK, _HEADER, _SIGNATURE = b"SRP1", struct.Struct(">4sBII"), 32
_LARGEST, _LARGEST_GREETING = 1 << 20, 1 << 12
_STEP = 1 << 20
_PARTING = 0.5
_HANGUP = getattr(select, "POLLRDHUP", select.POLLHUP) if hasattr(select, "poll") else 0
_KEEPALIVE = {"TCP_KEEPIDLE": 20, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}
"""A peer whose machine vanished is noticed after 40 seconds."""


def is_hung_up(sock: socket.socket) -> bool:
    """Return whether the other side closed a connection, as far as the system tells."""
    if not _HANGUP:
        return False
    try:
        poll = select.poll()
        poll.register(sock, _HANGUP)
        return bool(poll.poll(0))
    except (OSError, ValueError):
        return True


class ClosedError(RPCError):
    """The other side closed the connection."""


class DamagedError(RPCError):
    """What arrived is no frame, or is not what was agreed on."""


class Ended(msgspec.Struct, frozen=True):
    """What a server says of a session whose process ended by a signal; it does not have the session's keys."""

    reason: str
    is_late: bool = False


class EndedError(RPCError):
    """The server says why the process of the session ended."""

    def __init__(self, said: Ended) -> None:
        super().__init__(said.reason)
        self.is_late = said.is_late


class Channel:
    """A connection that carries frames.

    Errors name the other side as ``peer``.
    """

    def __init__(self, sock: socket.socket, peer: str) -> None:
        self.sock = sock
        self.peer = peer
        self._keys: tuple[bytes, bytes] | None = None
        self._counts = [0, 0]
        self._largest = (_LARGEST_GREETING, 0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if sock.family != getattr(socket, "AF_UNIX", None):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for name, value in _KEEPALIVE.items():
                if hasattr(socket, name):
                    sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def trust(self, sending: bytes = b"", receiving: bytes = b"") -> None:
        """Allow frames of full size from now on, signed with keys if there are any."""
        self._largest = (_LARGEST, PIECE)
        self._keys = (sending, receiving) if sending else None

    def encoded(self, message: object) -> msgspec.Raw:
        """Return a message as it is sent; RPCError if it is too large."""
        head = msgspec.msgpack.encode(message)
        if len(head) > _LARGEST:
            raise RPCError(f"{self.peer}: a message of {len(head)} bytes is too large; the most are {_LARGEST}")
        return msgspec.Raw(head)

    def send(self, message: object, body: Bytes = b"") -> None:
        """Send a message and its body.

        Raises ClosedError if there is no connection any more, and RPCError if the message is too large.
        """
        head = bytes(self.encoded(message))
        kind = isinstance(message, Ended)
        start = _HEADER.pack(_MARK, kind, len(head), len(body)) + head
        try:
            self.sock.sendall(start)
            if len(body):
                self.sock.sendall(body)
            if self._keys and not kind:
                self.sock.sendall(self._signature(0, start, body))
        except TimeoutError:
            raise
        except OSError as exc:
            raise ClosedError(f"{self.peer} closed the connection ({exc.strerror or exc})") from None

    def receive(self, kind: type[T], decode: Callable[[int, memoryview], Any] | None = None) -> tuple[T, bytearray]:
        """Return the next message, of a given type, and its body.

        Raises ClosedError, EndedError if there is none any more. Raises DamagedError if it is not such a frame, or not
        signed by who shares the secret.
        """
        start = self._exactly(_HEADER.size)
        mark, last, length, size = _HEADER.unpack(start)
        if mark != _MARK or last > 1:
            raise DamagedError(f"{self.peer} sent what is not a frame of this protocol: {bytes(start[:4])!r}")
        if length > self._largest[0] or size > self._largest[1] or (last and size):
            raise DamagedError(f"{self.peer} sent a frame that is too large: {length} and {size} bytes")
        head = self._exactly(length)
        if last:
            raise EndedError(self._decoded(head, Ended, None))
        body = self._exactly(size)
        if self._keys and not hmac.compare_digest(
            self._exactly(_SIGNATURE), self._signature(1, bytes(start + head), body)
        ):
            raise DamagedError(f"{self.peer} sent a frame whose signature is wrong")
        return self._decoded(head, kind, decode), body

    def _decoded(self, head: bytearray, kind: type[T], decode: Callable[[int, memoryview], Any] | None) -> T:
        try:
            return msgspec.msgpack.decode(head, type=kind, ext_hook=decode)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
            raise DamagedError(f"{self.peer} sent a message that cannot be read: {exc}") from None

    def _exactly(self, count: int) -> bytearray:
        data = bytearray()
        while len(data) < count:
            try:
                piece = self.sock.recv(min(count - len(data), _STEP))
            except TimeoutError:
                raise
            except OSError as exc:
                raise ClosedError(f"{self.peer} closed the connection ({exc.strerror or exc})") from None
            if not piece:
                raise ClosedError(f"{self.peer} closed the connection")
            data += piece
        return data

    def _signature(self, direction: int, start: bytes, body: Bytes) -> bytes:
        assert self._keys is not None
        made = hmac.new(self._keys[direction], self._counts[direction].to_bytes(8, "big") + start, hashlib.sha256)
        made.update(body)
        self._counts[direction] += 1
        return made.digest()

    def part(self, message: object) -> None:
        """Send a last message, and let it arrive: a connection that is closed with unread bytes may lose it."""
        with contextlib.suppress(ClosedError, OSError):
            self.send(message)
            self.sock.shutdown(socket.SHUT_WR)
            self.sock.settimeout(_PARTING)
            for _ in range(_LARGEST // _STEP * 64):
                if not self.sock.recv(_STEP):
                    break

    def close(self) -> None:
        """Close the connection."""
        self.sock.close()
