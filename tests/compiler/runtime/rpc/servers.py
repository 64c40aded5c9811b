"""Servers of sessions on free ports, in forks of the process of the tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compiler.runtime.rpc.handshake import listen
from compiler.runtime.rpc.server import Server


@contextmanager
def serving(key: str = "", secret: bytes = b"", **settings: Any) -> Iterator[int]:
    """Yield the port of a server, or of its proxy if that is given; the server ends with the block."""
    proxy = settings.pop("proxy", None)
    listener: Any = listen("127.0.0.1", [0], b"") if proxy is None else ("127.0.0.1", proxy)
    port = proxy or listener.getsockname()[1]
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(writing)
            sys.stderr = sys.__stderr__  # not what pytest keeps
            Server(listener, key, secret, **{"is_silent": True, **settings}).serve(until=os.fdopen(reading, "rb"))
        finally:
            os._exit(0)
    if proxy is None:
        listener.close()
    os.close(reading)
    try:
        yield port
    finally:
        os.close(writing)
        os.waitpid(pid, 0)
