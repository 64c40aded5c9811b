"""Streaming responses, which occupy no thread under the server of :mod:`app.serving`."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from flask import Response


class Stream(ABC):
    """The body of a response that comes in parts.

    A server attaches itself, reads whenever it was woken and has sent all that it has read, and closes.  Any WSGI
    server can iterate over it instead, at the price of a thread.
    """

    heartbeat = b""
    """What is sent when there was no news for a while."""
    heartbeat_seconds = 10.0

    @abstractmethod
    def attach(self, wake: Callable[[], None]) -> None:
        """Begin.

        Parameters
        ----------
        wake : callable
            Called from any thread, without arguments, whenever there may be more to read.
        """

    @abstractmethod
    def read(self) -> bytes | None:
        """Return the next part, nothing where there is no news, and None after the last."""

    @abstractmethod
    def close(self) -> None:
        """End: the last part was read, or the client has gone; may be called more than once."""

    def __iter__(self) -> Iterator[bytes]:
        news = threading.Event()
        self.attach(news.set)
        try:
            while True:
                news.clear()
                part = self.read()
                if part is None:
                    return
                if part:
                    yield part
                elif not news.wait(self.heartbeat_seconds):
                    yield self.heartbeat
        finally:
            self.close()


def streamed(stream: Stream, mimetype: str) -> Response:
    """Return a response that sends a stream, unchanged by caches and proxies on its way."""
    response = Response(stream, mimetype=mimetype, direct_passthrough=True)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    return response
