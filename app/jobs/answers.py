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
"""The fastest level of gzip, which compresses answers to a seventh at 250 MB/s."""

MAX_PROBLEMS, MAX_CHARACTERS = 20, 4_000
"""The maximum number of problems that the server keeps per answer, and of their characters."""


class StoredAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A complete answer, compressed, with what the server needs to know about it."""

    key: str
    """The content hash."""
    packed: bytes
    """The answer as gzip-compressed JSON."""
    size: int
    """The size of the JSON in bytes."""
    status: Status
    listings: list[str]
    """The keys of its listings."""
    drawings: list[str]
    """The keys of its drawings."""
    problems: list[Problem] = []
    """Its first problems, shortened."""
    hurried: bool = False
    """Whether another try may show more."""
    recalled: bool = False
    """Whether it was made for an earlier request, whose time it tells."""

    def json(self) -> bytes:
        """Return the answer as JSON."""
        return gzip.decompress(self.packed)


def pack(answer: Answer) -> StoredAnswer:
    """Compress an answer for storage."""
    raw = msgspec.json.encode(answer)
    return StoredAnswer(
        key=hashlib.sha256(raw).hexdigest()[:32],
        packed=gzip.compress(raw, COMPRESSION, mtime=0),
        size=len(raw),
        status=answer.status,
        hurried=answer.hurried,
        listings=list(answer.listings),
        drawings=list(answer.drawings),
        problems=[_shortened(problem) for problem in answer.problems[:MAX_PROBLEMS]],
    )


def attributed(measurement: Measurement, source: Source, machine: Machine | None) -> Measurement:
    """Label a measurement with its source and place, overriding its own claims."""
    if machine is None:
        return msgspec.structs.replace(measurement, source=source, host="")
    return msgspec.structs.replace(measurement, source=source, host=machine.host, cpu=machine.cpu)


def _shortened(problem: Problem) -> Problem:
    trace = [text[:MAX_CHARACTERS] for text in problem.trace[:MAX_PROBLEMS]]
    kind, message = problem.kind[:MAX_CHARACTERS], problem.message[:MAX_CHARACTERS]
    return msgspec.structs.replace(problem, kind=kind, message=message, trace=trace, fixes=[])


def refused(message: str) -> StoredAnswer:
    """Create the answer of a run without results, with the reason."""
    return pack(Answer(status="limit", problems=[Problem(kind="OutputLimit", message=message)]))
