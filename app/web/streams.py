"""Streaming responses, which occupy no thread in :mod:`app.serving`."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

from flask import Response


class Stream(ABC):
    """A response body that is sent in parts as they become available.

    The server attaches a callback, reads whenever it was called, and finally closes the stream.  Other WSGI servers can
    iterate over it instead, which occupies a thread.
    """

    heartbeat = b""
    """Sent after a period without parts."""
    heartbeat_seconds = 10.0

    @abstractmethod
    def attach(self, wake: Callable[[], None]) -> None:
        """Start the stream.

        Parameters
        ----------
        wake : callable
            Called without arguments, from any thread, whenever there may be more to read.
        """

    @abstractmethod
    def read(self) -> bytes | None:
        """Return the next part; empty if there is none yet, and None after the last one."""

    @abstractmethod
    def close(self) -> None:
        """End the stream, after the last part or when the client disconnects; idempotent."""

    def __iter__(self) -> Iterator[bytes]:
        wakeup = threading.Event()
        self.attach(wakeup.set)
        try:
            while True:
                wakeup.clear()
                part = self.read()
                if part is None:
                    return
                if part:
                    yield part
                elif not wakeup.wait(self.heartbeat_seconds):
                    yield self.heartbeat
        finally:
            self.close()


def lines_of(parts: Iterable[bytes | str]) -> Iterator[bytes]:
    """Yield the complete lines of a body that comes in parts, without their ends."""
    rest = b""
    for part in parts:
        *whole, rest = (rest + (part if isinstance(part, bytes) else part.encode())).split(b"\n")
        yield from whole


def streamed(stream: Stream, mimetype: str) -> Response:
    """Return a streaming response, which caches and proxies must not buffer or transform."""
    response = Response(stream, mimetype=mimetype, direct_passthrough=True)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    return response
