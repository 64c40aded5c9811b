"""Caches answers by content: the same script, files and options are compiled once."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from app.artifacts import FORMAT, Answer, Mode, Workspace
from app.store.canonical import canonical_bytes


def content_key(mode: Mode, workspace: Workspace) -> bytes:
    """Return a hash of everything that an answer depends on."""
    digest = hashlib.blake2b(digest_size=32)
    digest.update(f"{FORMAT} {mode} ".encode())
    digest.update(canonical_bytes(workspace))
    return digest.digest()


class AnswerCache:
    """A cache of answers; the least recently used are evicted first.

    Parameters
    ----------
    capacity
        Bytes to keep, by the size of answers as the child sent them.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[bytes, tuple[Answer, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Answer | None:
        """Return the answer for a key, or None."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: bytes, answer: Answer, size: int) -> None:
        """Store an answer of ``size`` bytes, evicting the least recently used ones."""
        with self._lock:
            if key in self._entries or size > self._capacity:
                return
            self._entries[key] = (answer, size)
            self._size += size
            while self._size > self._capacity:
                _, (_, freed) = self._entries.popitem(last=False)
                self._size -= freed
