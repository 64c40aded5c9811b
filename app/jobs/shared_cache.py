"""A cache of answers shared by several servers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

import msgspec

from app.jobs.answers import StoredAnswer
from app.jobs.cache import AnswerCache
from app.store.shared_results import SharedResults

OWNER = ""
"""Owner, for the memory budget, of answers from other servers."""
_decode = msgspec.msgpack.Decoder(StoredAnswer).decode


class SharedAnswerCache(AnswerCache):
    """A cache of answers, backed by a store that several servers share.

    An answer is stored once, under its key; the objects of its workspace and of each of its listings and drawings refer
    to that key.

    Parameters
    ----------
    capacity : int
        Capacity of the local cache in bytes.
    processors : callable
        Returns the processor models that scripts run on; answers are only shared between equal ones.
    """

    def __init__(self, capacity: int, results: SharedResults, processors: Callable[[], Iterable[str]]) -> None:
        super().__init__(capacity)
        self._results = results
        self._processors = processors

    def get(self, workspace: bytes) -> StoredAnswer | None:
        """Return the answer of a workspace by its content key, from the cache or the shared store."""
        return super().get(workspace) or self._fetch(self._name(workspace), workspace)

    def holding(self, content: str) -> StoredAnswer | None:
        """Return an answer with the listing or drawing of a key, from the cache or the shared store."""
        return super().holding(content) or (self._fetch(f"contents/{content}") if content.isalnum() else None)

    def put(self, answer: StoredAnswer, owner: str, workspace: bytes | None = None) -> None:
        """Add an answer to the cache and the shared store.

        Parameters
        ----------
        owner : str
            The client that requested it.
        workspace : bytes, optional
            The content key of its workspace.
        """
        super().put(answer, owner, workspace)
        names = [f"contents/{content}" for content in (*answer.listings, *answer.drawings)]
        if workspace is not None:
            names.append(self._name(workspace))
        self._results.write({f"answers/{answer.key}": msgspec.msgpack.encode(answer)})
        self._results.write(dict.fromkeys(names, answer.key.encode()))

    def _name(self, workspace: bytes) -> str:
        processors = hashlib.sha256("\n".join(sorted(set(self._processors()))).encode()).hexdigest()[:16]
        return f"workspaces/{processors}/{workspace.hex()}"

    def _fetch(self, name: str, workspace: bytes | None = None) -> StoredAnswer | None:
        key = self._results.read(name)
        encoded = self._results.read(f"answers/{key.decode()}") if key else None
        if encoded is None:
            return None
        answer = _decode(encoded)
        super().put(answer, OWNER, workspace)
        return answer
