"""The main loop of a rendering process."""

from __future__ import annotations

import gc
import signal
import socket
import traceback
from collections import OrderedDict

from app.errors import RequestError, TooLarge
from app.workers.frames import MAX_RESULT, Broken, Call, Channel, Done, FrameTooLong, Missing, Refused, Result, of_calls
from app.workers.rendering import Decoded, assembled, perform
from app.workers.tasks import Assemble, Packed

KEPT_BYTES = 6 << 20
"""Capacity of the cache in bytes of JSON; decoded answers take about six times as much memory."""


class Kept:
    """An LRU cache of decoded answers."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, Decoded] = OrderedDict()
        self._size = 0

    def get(self, key: str) -> Decoded | None:
        """Return the answer of a key, or None."""
        if key in self._answers:
            self._answers.move_to_end(key)
        return self._answers.get(key)

    def put(self, key: str, decoded: Decoded) -> None:
        """Add an answer, and evict the least recently used ones beyond the capacity."""
        self._answers[key] = decoded
        self._answers.move_to_end(key)
        self._size += decoded.size
        while self._size > KEPT_BYTES and len(self._answers) > 1:
            _, old = self._answers.popitem(last=False)
            self._size -= old.size

    def clear(self) -> None:
        """Evict everything."""
        self._answers.clear()
        self._size = 0


def serve(end: socket.socket, seconds: float) -> None:
    """Run tasks until the peer closes the socket.

    Parameters
    ----------
    seconds : float
        CPU time limit per task, enforced by a signal that ends the process.
    """
    channel, kept = Channel(end, of_calls, MAX_RESULT), Kept()
    while True:
        try:
            call = channel.receive()
        except (EOFError, OSError):
            return
        signal.setitimer(signal.ITIMER_PROF, seconds)
        result = _result(call, kept)
        del call
        try:
            channel.send(result)
        except FrameTooLong as error:
            channel.send(Refused(TooLarge.__name__, f"what was made of this is too large: {error}"))
        del result
        signal.setitimer(signal.ITIMER_PROF, 0)


def _result(call: Call, kept: Kept) -> Result:
    """Return the result of a call; on a MemoryError, clear the cache and try once more."""
    try:
        return _attempt(call, kept)
    except MemoryError:
        kept.clear()
        gc.collect()
    try:
        return _attempt(call, kept)
    except MemoryError:
        kept.clear()
        return Refused(TooLarge.__name__, "to show this would take more memory than there is for it")


def _attempt(call: Call, kept: Kept) -> Result:
    try:
        if isinstance(call.task, Assemble):
            stored, decoded = assembled(call.task)
            kept.put(stored.key, decoded)
            return Done(Packed(stored))
        answers = _answers(call, kept)
        missing = [key for key in call.answers if key not in answers]
        return Missing(missing) if missing else Done(perform(call.task, list(answers.values())))
    except RequestError as error:
        return Refused(type(error).__name__, error.message, error.expected)
    except MemoryError:
        raise
    except Exception:
        return Broken(traceback.format_exc())


def _answers(call: Call, kept: Kept) -> dict[str, Decoded]:
    """Return the answers of a call that are cached or came with it."""
    answers = {key: decoded for key in call.answers if (decoded := kept.get(key)) is not None}
    for stored in call.sent:
        if stored.key not in answers:
            answers[stored.key] = Decoded.of(stored.json())
            kept.put(stored.key, answers[stored.key])
    return answers
