"""``strata mcp``: the Model Context Protocol over standard input and output, one message a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack

from app.gallery import load_gallery
from app.lessons import Library
from app.mcp import messages
from app.mcp.messages import INVALID_REQUEST, ProtocolError
from app.mcp.server import Assistants
from app.mcp.tools import Refused
from app.shell.explorer import Explorer, Server, here
from app.shell.failures import Failure
from app.shell.programs import standard_input

MAX_LINE = 5 << 20
"""Bytes of a message, as over HTTP."""


class _Api:
    """An explorer that is started, or asked, when a tool is called first, so that an assistant need not wait for it."""

    def __init__(self, address: str, stack: ExitStack) -> None:
        self.address = address.rstrip("/")
        self._stack = stack
        self._explorer: Explorer | None = Server(address) if address else None

    def send(self, path: str, body: object | None) -> bytes:
        """Return the body of the response.

        Raises
        ------
        Refused
            If there is none, with the reason.
        """
        try:
            return self._started().send(path, body)
        except Failure as error:
            raise Refused(str(error)) from None

    def lines(self, path: str) -> Iterator[bytes]:
        """Return the lines of a stream of events, as they come."""
        try:
            yield from self._started().lines(path)
        except Failure as error:
            raise Refused(str(error)) from None

    def _started(self) -> Explorer:
        if self._explorer is None:
            self._explorer = self._stack.enter_context(here())
        return self._explorer


def serve(address: str) -> int:
    """Answer messages until standard input ends; tools are carried out by a server, or in this process."""
    answers = sys.stdout.buffer
    assistants = Assistants(Library(), load_gallery())
    with ExitStack() as stack:
        api = _Api(address, stack)
        for line in _lines():
            if line is None:
                error = ProtocolError(INVALID_REQUEST, f"a message has at most {MAX_LINE:,} bytes")
                answer = messages.failure(None, error)
            else:
                answer, _ = assistants.answer(line, api)
            if answer:
                answers.write(answer + b"\n")
                answers.flush()
    return 0


def _lines() -> Iterator[bytes | None]:
    """Yield the lines of standard input; None in place of one that is too long, which is never held as a whole."""
    given = standard_input()
    while line := given.readline(MAX_LINE):
        if len(line) < MAX_LINE or line.endswith(b"\n"):
            if line.strip():
                yield line
            continue
        while (rest := given.readline(MAX_LINE)) and not rest.endswith(b"\n"):
            continue
        yield None
