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
"""Size as JSON of the decoded answers that are kept for the next task; in memory they take six times as much."""


class Kept:
    """The answers that were decoded lately."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, Decoded] = OrderedDict()
        self._size = 0

    def get(self, key: str) -> Decoded | None:
        """Return an answer, or None."""
        if key in self._answers:
            self._answers.move_to_end(key)
        return self._answers.get(key)

    def put(self, key: str, decoded: Decoded) -> None:
        """Keep an answer, and drop the least recently used ones where there is no room for all."""
        self._answers[key] = decoded
        self._answers.move_to_end(key)
        self._size += decoded.size
        while self._size > KEPT_BYTES and len(self._answers) > 1:
            _, old = self._answers.popitem(last=False)
            self._size -= old.size

    def clear(self) -> None:
        """Drop all."""
        self._answers.clear()
        self._size = 0


def serve(end: socket.socket, seconds: float) -> None:
    """Perform tasks until the other end closes.

    Parameters
    ----------
    end : socket.socket
    seconds : float
        Processor time that a task may take; the kernel ends the process that takes more.
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
    """Return the result of a call; where memory does not suffice, once more without what is kept for later."""
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
    """Return the answers that a call is about, as far as they are kept or came with it."""
    answers = {key: decoded for key in call.answers if (decoded := kept.get(key)) is not None}
    for stored in call.sent:
        if stored.key not in answers:
            answers[stored.key] = Decoded.of(stored.json())
            kept.put(stored.key, answers[stored.key])
    return answers
