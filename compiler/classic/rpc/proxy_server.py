"""A proxy between clients and servers that cannot be reached: both connect to it, and it passes on what they say.

It reads only the first frame of each, which names a key.  What follows, the proof of the secret too, is between them.
"""

from __future__ import annotations

import contextlib
import socket
import threading

from compiler.runtime.rpc.frames import Channel, is_hung_up
from compiler.runtime.rpc.handshake import Hello, Refused
from compiler.runtime.rpc.listening import Listening

_STEP = 1 << 16


class Proxy(Listening):
    """Joins each client with a server of its key, in the order in which they came."""

    def __init__(self, listener: socket.socket, secret: bytes = b"") -> None:
        super().__init__(listener, secret)
        self._servers: dict[Channel, str] = {}

    def converse(self, channel: Channel, host: str) -> bool:
        hello, _ = channel.receive(Hello)
        channel.sock.settimeout(None)
        if hello.role == "tracker":
            channel.part(Refused("this is a proxy, which is no tracker"))
        elif hello.role == "server":
            with self.changed:
                self._servers[channel] = hello.key
                self.changed.notify_all()
            return True
        else:
            server = self.wait(channel, lambda: self._taken(hello.key))
            try:
                server.send(hello)
                answers = threading.Thread(target=_pass_on, args=(server.sock, channel.sock), daemon=True)
                answers.start()
                _pass_on(channel.sock, server.sock)
                answers.join()
            finally:
                self.close(server)
        return False

    def _taken(self, key: str) -> Channel | None:
        """Return a server of a key that is still there, and keep it for the one who asked."""
        for channel in [channel for channel, offered in self._servers.items() if offered == key]:
            del self._servers[channel]
            if not is_hung_up(channel.sock):
                return channel
            self.close(channel)
        return None


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Pass on what arrives until nothing does any more."""
    with contextlib.suppress(OSError):
        while data := source.recv(_STEP):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
