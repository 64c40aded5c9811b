"""Servers of sessions on free ports, in forks of the process of the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compiler.runtime.rpc.handshake import listen
from compiler.runtime.rpc.server import Server


@contextmanager
def serving(key: str = "", secret: bytes = b"", **settings: Any) -> Iterator[int]:
    """Yield the port of a server, which ends with the block."""
    listener = listen("127.0.0.1", [settings.pop("port", 0)], b"")
    port = listener.getsockname()[1]
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(writing)
            Server(listener, key, secret, is_silent=True, **settings).serve(until=os.fdopen(reading, "rb"))
        finally:
            os._exit(0)
    listener.close()
    os.close(reading)
    try:
        yield port
    finally:
        os.close(writing)
        os.waitpid(pid, 0)
