"""The cache of answers, by workspace, and of their texts and drawings, by content."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass, field

from app.artifacts import FORMAT, Mode, Workspace
from app.jobs.answers import StoredAnswer
from app.store.canonical import canonical_bytes

ENTRY_BYTES, KEY_BYTES = 1_000, 200
"""The memory overhead of an answer, and of each key that refers to it."""


def content_key(mode: Mode, workspace: Workspace) -> bytes:
    """Return a hash of everything that an answer depends on."""
    digest = hashlib.blake2b(digest_size=32)
    digest.update(f"{FORMAT} {mode} ".encode())
    digest.update(canonical_bytes(workspace))
    return digest.digest()


@dataclass(eq=False, slots=True)
class _Entry:
    """A cached answer, its owner, and the workspaces that it answers."""

    answer: StoredAnswer
    owner: str
    size: int
    workspaces: list[bytes] = field(default_factory=list)


class AnswerCache:
    """A cache of recent answers, of limited size.

    It evicts the least recently used answer of the client with the most bytes, so that clients cannot evict each
    other's answers.

    Parameters
    ----------
    capacity : int
        The capacity in compressed bytes; the newest answer is always kept.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: dict[str, _Entry] = {}
        self._owned: dict[str, OrderedDict[str, None]] = {}
        self._sizes: Counter[str] = Counter()
        self._size = 0
        self._workspaces: dict[bytes, str] = {}
        self._contents: dict[str, str] = {}
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """The number of bytes kept."""
        with self._lock:
            return self._size

    def get(self, workspace: bytes) -> StoredAnswer | None:
        """Look up the answer of a workspace by its :func:`content_key`."""
        with self._lock:
            entry = self._entries.get(self._workspaces.get(workspace, ""))
            if entry is None:
                return None
            self._use(entry)
            return entry.answer

    def of_key(self, key: str) -> StoredAnswer | None:
        """Return the answer with this content hash, or None."""
        with self._lock:
            entry = self._entries.get(key)
            return entry.answer if entry is not None else None

    def holding(self, content: str) -> StoredAnswer | None:
        """Return the latest answer with a listing or drawing of this key, or None."""
        with self._lock:
            entry = self._entries.get(self._contents.get(content, ""))
            return entry.answer if entry is not None else None

    def put(self, answer: StoredAnswer, owner: str, workspace: bytes | None = None) -> None:
        """Cache an answer.

        Parameters
        ----------
        owner : str
            The client that requested it.
        workspace : bytes, optional
            The content key of its workspace.
        """
        with self._lock:
            entry = self._entries.get(answer.key)
            if entry is None:
                entry = self._entries[answer.key] = _Entry(answer, owner, 0)
                self._owned.setdefault(owner, OrderedDict())[answer.key] = None
                keys = len(answer.listings) + len(answer.drawings)
                self._grow(entry, len(answer.packed) + ENTRY_BYTES + KEY_BYTES * keys)
            self._use(entry)
            if workspace is not None and workspace not in self._workspaces:
                self._workspaces[workspace] = answer.key
                entry.workspaces.append(workspace)
                self._grow(entry, KEY_BYTES)
            while self._size > self._capacity and len(self._entries) > 1:
                self._evict(entry)

    def _use(self, entry: _Entry) -> None:
        answer = entry.answer
        self._owned[entry.owner].move_to_end(answer.key)
        for content in (*answer.listings, *answer.drawings):
            self._contents[content] = answer.key

    def _grow(self, entry: _Entry, size: int) -> None:
        entry.size += size
        self._size += size
        self._sizes[entry.owner] += size

    def _evict(self, newest: _Entry) -> None:
        """Evict the least recently used answer of the client with the most bytes, except the newest."""
        owner = max(self._sizes, key=lambda name: self._sizes[name] - (newest.size if name == newest.owner else 0))
        key = next(key for key in self._owned[owner] if key != newest.answer.key)
        entry = self._entries.pop(key)
        self._grow(entry, -entry.size)
        del self._owned[owner][key]
        if not self._owned[owner]:
            del self._owned[owner], self._sizes[owner]
        for workspace in entry.workspaces:
            del self._workspaces[workspace]
        for content in (*entry.answer.listings, *entry.answer.drawings):
            if self._contents.get(content) == key:
                del self._contents[content]
