"""Ports for servers that tests start in another process."""

from __future__ import annotations

import random
import socket

HOST = "127.0.0.1"
PORTS = range(10_000, 32_000)
"""Below the ports that Linux, macOS and Windows give to connections, so that none takes it before the server does."""


def free_port() -> int:
    """Return a port of loopback that nothing listens on.

    Raises
    ------
    RuntimeError
        If all are taken.
    """
    for port in random.sample(PORTS, len(PORTS)):
        try:
            socket.create_server((HOST, port)).close()
        except OSError:
            continue
        return port
    raise RuntimeError("no port is free")
