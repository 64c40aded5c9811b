"""What a tracker and a proxy have in common: connections, each served by a thread."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from compiler.runtime.rpc.frames import Channel, ClosedError, DamagedError, EndedError, is_hung_up
from compiler.runtime.rpc.handshake import Refused

T = TypeVar("T")

GREETING = 10.0
"""Seconds within which who connects has to introduce itself."""
_TICK = 0.25
_MOST = 1000
"""Connections at the same time."""


class Listening(ABC):
    """Serves connections in threads of this process, until :meth:`end`."""

    def __init__(self, listener: socket.socket, secret: bytes = b"") -> None:
        self._listener = listener
        self.secret = secret
        self.changed = threading.Condition()
        self._channels: set[Channel] = set()
        self._is_ended = False

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        """Serve in a thread."""
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        """Serve connections, each in a thread, until :meth:`end` is called."""
        while not self._is_ended:
            try:
                conn, address = self._listener.accept()
            except OSError:  # a connection that was given up, or no file is left for it
                time.sleep(_TICK)
                continue
            channel = Channel(conn, f"{address[0]}:{address[1]}")
            with self.changed:
                is_full = len(self._channels) >= _MOST
                self._channels |= set() if is_full else {channel}
            if is_full:
                channel.close()
                continue
            threading.Thread(target=self._serve, args=(channel, str(address[0])), daemon=True).start()

    def end(self) -> None:
        """End it and its connections."""
        self._is_ended = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        with self.changed:
            channels = list(self._channels)
            self.changed.notify_all()
        for channel in channels:
            with contextlib.suppress(OSError):
                channel.sock.shutdown(socket.SHUT_RDWR)

    def _serve(self, channel: Channel, host: str) -> None:
        is_kept = False
        try:
            with contextlib.suppress(ClosedError, EndedError, TimeoutError):  # whoever it was is gone
                channel.sock.settimeout(GREETING)
                is_kept = self.converse(channel, host)
        except DamagedError as damaged:
            channel.part(Refused(str(damaged)))
        finally:
            if not is_kept:
                self.close(channel)

    @abstractmethod
    def converse(self, channel: Channel, host: str) -> bool:
        """Serve a connection from a host, and return whether it is to be left open."""

    def close(self, channel: Channel) -> None:
        """Close a connection."""
        channel.close()
        with self.changed:
            self._channels.discard(channel)

    def wait(self, channel: Channel, find: Callable[[], T | None]) -> T:
        """Return what is found at last, for a client that waits for it; ClosedError if that is gone."""
        with self.changed:
            while not self._is_ended and not is_hung_up(channel.sock):
                found = find()
                if found is not None:
                    return found
                self.changed.wait(_TICK)
        raise ClosedError("the client is gone")
