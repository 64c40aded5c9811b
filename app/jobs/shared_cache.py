"""A cache of answers shared by several servers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

import msgspec

from app.jobs.answers import StoredAnswer
from app.jobs.cache import AnswerCache
from app.store.shared_results import SharedResults

OWNER = ""
"""Whom answers count for that another server made."""
_decode = msgspec.msgpack.Decoder(StoredAnswer).decode


class SharedAnswerCache(AnswerCache):
    """A server's own answers, and behind them those of all servers.

    An answer is stored once, under its key; the workspace that it answers, and each text and drawing in it, has an
    object that names that key.

    Parameters
    ----------
    capacity : int
        Bytes to keep here.
    results : SharedResults
    processors : callable
        Returns the models of the processors that scripts run on: an answer holds for the same ones.
    """

    def __init__(self, capacity: int, results: SharedResults, processors: Callable[[], Iterable[str]]) -> None:
        super().__init__(capacity)
        self._results = results
        self._processors = processors

    def get(self, workspace: bytes) -> StoredAnswer | None:
        """Return the answer of a workspace by its content key, from here or from another server."""
        return super().get(workspace) or self._fetch(self._name(workspace), workspace)

    def holding(self, content: str) -> StoredAnswer | None:
        """Return an answer that has a listing or a drawing of this key, from here or from another server."""
        return super().holding(content) or (self._fetch(f"contents/{content}") if content.isalnum() else None)

    def put(self, answer: StoredAnswer, owner: str, workspace: bytes | None = None) -> None:
        """Keep an answer, and share it.

        Parameters
        ----------
        answer : StoredAnswer
        owner : str
            The client for which it was made.
        workspace : bytes, optional
            The content key of the workspace that it answers.
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
