"""Answers as the server keeps them: bytes that only rendering processes decode."""

from __future__ import annotations

import gzip
import hashlib
from typing import Literal

import msgspec

from app.artifacts import Answer, Measurement, Problem, Source
from app.sandbox import Machine

Status = Literal["ok", "error", "timeout", "limit", "crash"]
COMPRESSION = 1
"""The quickest level of gzip: answers shrink to a seventh, at 250 MB/s."""

MAX_PROBLEMS, MAX_CHARACTERS = 20, 4_000
"""Problems that a server knows of an answer, and characters of their texts."""


class StoredAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A complete answer, compressed, and what a server needs to know of it."""

    key: str
    """Content hash."""
    packed: bytes
    """The answer as JSON, compressed by gzip."""
    size: int
    """Bytes of the JSON."""
    status: Status
    listings: list[str]
    """Keys of its listings."""
    drawings: list[str]
    """Keys of its drawings."""
    problems: list[Problem] = []
    """The first of its problems, shortened."""

    def json(self) -> bytes:
        """Return the answer as JSON."""
        return gzip.decompress(self.packed)


def pack(answer: Answer) -> StoredAnswer:
    """Return an answer in the form that is kept."""
    raw = msgspec.json.encode(answer)
    return StoredAnswer(
        key=hashlib.sha256(raw).hexdigest()[:32],
        packed=gzip.compress(raw, COMPRESSION, mtime=0),
        size=len(raw),
        status=answer.status,
        listings=list(answer.listings),
        drawings=list(answer.drawings),
        problems=[_shortened(problem) for problem in answer.problems[:MAX_PROBLEMS]],
    )


def attributed(measurement: Measurement, source: Source, machine: Machine | None) -> Measurement:
    """Return a measurement that says who made it and where, whatever it said."""
    if machine is None:
        return msgspec.structs.replace(measurement, source=source, host="")
    return msgspec.structs.replace(measurement, source=source, host=machine.host, cpu=machine.cpu)


def _shortened(problem: Problem) -> Problem:
    trace = [text[:MAX_CHARACTERS] for text in problem.trace[:MAX_PROBLEMS]]
    kind, message = problem.kind[:MAX_CHARACTERS], problem.message[:MAX_CHARACTERS]
    return msgspec.structs.replace(problem, kind=kind, message=message, trace=trace)


def refused(message: str) -> StoredAnswer:
    """Return the answer of a run of which nothing can be shown, and why."""
    return pack(Answer(status="limit", problems=[Problem(kind="OutputLimit", message=message)]))
