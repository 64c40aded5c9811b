"""Answers by content: the same script, files and options are worked on once."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from app.artifacts import FORMAT, Answer, Mode, Workspace
from app.canonical import canonical_bytes


def content_key(mode: Mode, workspace: Workspace) -> bytes:
    """Return a hash of all that an answer depends on."""
    digest = hashlib.blake2b(digest_size=32)
    digest.update(f"{FORMAT} {mode} ".encode())
    digest.update(canonical_bytes(workspace))
    return digest.digest()


class AnswerCache:
    """Keeps the answers that were asked for last.

    Parameters
    ----------
    capacity
        Bytes to keep, by the size that answers had on their way from the child.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._held: OrderedDict[bytes, tuple[Answer, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Answer | None:
        """Return the answer for a key, if it is still here."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def put(self, key: bytes, answer: Answer, size: int) -> None:
        """Keep an answer; the ones that nobody asked for longest make room."""
        with self._lock:
            if key in self._held or size > self._capacity:
                return
            self._held[key] = (answer, size)
            self._size += size
            while self._size > self._capacity:
                _, (_, freed) = self._held.popitem(last=False)
                self._size -= freed
