"""Serves requests in the process of a test."""

from __future__ import annotations

import msgspec

from app.protocol import Message, Request
from app.recorder.handler import WITHOUT_SCRIPT, handle
from app.recorder.session import Session

__all__ = ["served"]

BUDGET_SECONDS = 60.0


def served(request: Request) -> list[Message]:
    """Return all that is said to a request, as another process would read it.

    No watchdog looks at a script: where the machine is busy, it would end the process, and all tests with it.
    """
    sent: list[bytes] = []
    if request.mode in WITHOUT_SCRIPT:
        handle(msgspec.json.encode(request), sent.append)
    else:
        patient = msgspec.structs.replace(request, budget_seconds=BUDGET_SECONDS)
        Session(patient, lambda message: sent.append(msgspec.json.encode(message)), guarded=False).run()
    return [msgspec.json.decode(message, type=Message) for message in sent]
