"""The main loop of a rendering process."""

from __future__ import annotations

import signal
import socket
import traceback
from collections import OrderedDict

from app.errors import RequestError, TooLarge
from app.workers.frames import (
    MAX_RESULT,
    Call,
    Channel,
    FrameTooLong,
    MissingAnswers,
    Refusal,
    Result,
    TaskError,
    TaskReply,
    of_calls,
)
from app.workers.rendering import DecodedAnswer, assembled, perform, prepare
from app.workers.tasks import Assemble, Packed

KEPT_BYTES = 6 << 20
"""Capacity of the cache in bytes of JSON; decoded answers take about six times as much memory."""


class LRUCache:
    """An LRU cache of decoded answers."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, DecodedAnswer] = OrderedDict()
        self._size = 0

    def get(self, key: str) -> DecodedAnswer | None:
        """Return the answer of a key, or None."""
        if key in self._answers:
            self._answers.move_to_end(key)
        return self._answers.get(key)

    def put(self, key: str, decoded: DecodedAnswer) -> None:
        """Add an answer, and evict the least recently used ones beyond the capacity."""
        self._answers[key] = decoded
        self._answers.move_to_end(key)
        self._size += decoded.size
        while self._size > KEPT_BYTES and len(self._answers) > 1:
            _, old = self._answers.popitem(last=False)
            self._size -= old.size


def serve(end: socket.socket, seconds: float) -> None:
    """Run tasks until the peer closes the socket.

    Parameters
    ----------
    seconds : float
        CPU time limit per task, enforced by a signal that ends the process.
    """
    channel, cache = Channel(end, of_calls, MAX_RESULT), LRUCache()
    while True:
        try:
            call = channel.receive()
        except (EOFError, OSError):
            return
        result = _result(call, cache, seconds)
        del call
        try:
            channel.send(result)
        except FrameTooLong as error:
            channel.send(Refusal(TooLarge.__name__, f"what was made of this is too large: {error}"))
        del result
        signal.setitimer(signal.ITIMER_PROF, 0)


def _result(call: Call, cache: LRUCache, seconds: float) -> Result:
    try:
        prepare(call.task)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        if isinstance(call.task, Assemble):
            stored, decoded = assembled(call.task)
            cache.put(stored.key, decoded)
            return TaskReply(Packed(stored))
        answers = _answers(call, cache)
        missing = [key for key in call.answers if key not in answers]
        if missing:
            return MissingAnswers(missing)
        return TaskReply(perform(call.task, [answers[key] for key in call.answers]))
    except RequestError as error:
        return Refusal(type(error).__name__, error.message, error.expected)
    except MemoryError:
        raise  # ends the process; a new one has all of its memory
    except Exception:
        return TaskError(traceback.format_exc())


def _answers(call: Call, cache: LRUCache) -> dict[str, DecodedAnswer]:
    """Return the answers of a call that are cached or came with it."""
    answers = {key: decoded for key in call.answers if (decoded := cache.get(key)) is not None}
    for stored in call.sent:
        if stored.key not in answers:
            answers[stored.key] = DecodedAnswer.of(stored.json())
            cache.put(stored.key, answers[stored.key])
    return answers
