"""Streams of which a slow client only gets the latest messages."""

from __future__ import annotations

import threading
from collections.abc import Callable

from app.jobs.callers import Caller
from app.web.streams import Stream


class Messages(Stream):
    """Messages of which only the newest and the last count.

    Attributes
    ----------
    caller : Caller
        The client that reads them.
    """

    def __init__(self) -> None:
        self.caller = Caller()
        self._newest = b""
        self._last: bytes | None = None
        self._over = False
        self._wake: Callable[[], None] = lambda: None
        self._lock = threading.Lock()

    def put(self, message: bytes) -> None:
        """Send a message, in place of one that nobody has read yet."""
        with self._lock:
            self._newest = message
            wake = self._wake
        wake()

    def end(self, message: bytes) -> None:
        """Send the last message, after the newest."""
        with self._lock:
            self._last = message
            wake = self._wake
        wake()

    def attach(self, wake: Callable[[], None]) -> None:
        """Begin to read."""
        with self._lock:
            self._wake = wake

    def read(self) -> bytes | None:
        """Return the newest message once, then the last one."""
        with self._lock:
            if self._newest:
                message, self._newest = self._newest, b""
                return message
            if self._last is not None:
                message, self._last, self._over = self._last, None, True
                return message
            return None if self._over else b""

    def close(self) -> None:
        """Let the caller leave: whoever produces messages may stop."""
        self.caller.leave()
