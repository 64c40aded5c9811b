"""Streaming responses, which occupy no thread in :mod:`app.serving`."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from flask import Response

from app.store.following import Followed

News = TypeVar("News")


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


def event(name: str, data: bytes) -> bytes:
    """Return a server-sent event; ``data`` is JSON in one line."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


class FollowedStream(Stream, Generic[News]):
    """What a row of the database is about, as server-sent events; slow clients skip what is outdated."""

    heartbeat = b": still here\n\n"
    last = event("ended", b"{}")

    def __init__(self, followed: Followed[News]) -> None:
        self._followed = followed
        self._version = 0
        self._told = False
        """Whether the client was told that the row is gone."""

    @abstractmethod
    def tell(self, news: News) -> bytes:
        """Return the events for a newer state."""

    def attach(self, wake: Callable[[], None]) -> None:
        """Subscribe."""
        self._followed.listen(self, wake)

    def read(self) -> bytes | None:
        """Return the newest events, then the end of the row, and None after that."""
        if self._followed.ended:
            told, self._told = self._told, True
            return None if told else self.last
        news = self._followed.news(self._version)
        if news is None:
            return b""
        self._version, state = news
        return self.tell(state)

    def close(self) -> None:
        """Unsubscribe."""
        self._followed.leave(self)


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
