"""Runs inside the sandboxed child: a request in, artifacts out.

The script is never parsed: it runs, and the recorder watches it through the compiler's own instruments.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from app.artifacts import Message, Request
from app.recorder.session import Session

Emit = Callable[[bytes], None]


def handle(request: bytes, emit: Emit) -> None:
    """Serve one request.

    Parameters
    ----------
    request : bytes
        A :class:`~app.artifacts.Request` as JSON.
    emit : callable
        Takes each :data:`~app.artifacts.Message`, encoded as JSON, as soon as there is one.
    """
    encoder = msgspec.json.Encoder()

    def send(message: Message) -> None:
        emit(encoder.encode(message))

    Session(msgspec.json.decode(request, type=Request), send).run()
