"""Message streams that drop outdated messages for slow clients."""

from __future__ import annotations

import threading
from collections.abc import Callable

from app.jobs.callers import Caller
from app.web.streams import Stream


class Messages(Stream):
    """A message queue that only keeps the newest and the final message.

    Attributes
    ----------
    caller : Caller
        The client that reads the messages.
    """

    def __init__(self) -> None:
        self.caller = Caller()
        self._newest = b""
        self._last: bytes | None = None
        self._over = False
        self._wake: Callable[[], None] = lambda: None
        self._lock = threading.Lock()

    def put(self, message: bytes) -> None:
        """Send a message, replacing an unread one."""
        with self._lock:
            self._newest = message
            wake = self._wake
        wake()

    def end(self, message: bytes) -> None:
        """Send the final message, after the newest one."""
        with self._lock:
            self._last = message
            wake = self._wake
        wake()

    def attach(self, wake: Callable[[], None]) -> None:
        """Start reading; ``wake`` is called when there is a message."""
        with self._lock:
            self._wake = wake

    def read(self) -> bytes | None:
        """Return the newest message once, then the final one."""
        with self._lock:
            if self._newest:
                message, self._newest = self._newest, b""
                return message
            if self._last is not None:
                message, self._last, self._over = self._last, None, True
                return message
            return None if self._over else b""

    def close(self) -> None:
        """Let the caller leave, so that the producer may stop."""
        self.caller.leave()
