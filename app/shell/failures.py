"""Why a command fails, and the exit code that says so."""

from __future__ import annotations

WRONG_PROGRAM, WRONG_COMMAND, UNREACHABLE = 1, 2, 3
"""Exit codes: the program has an error or computes something else; the command names what is not there; no server."""


class Failure(Exception):
    """A command cannot be carried out; the message is a sentence for who gave it.

    Parameters
    ----------
    status
        The exit code.
    """

    def __init__(self, message: str, status: int = WRONG_PROGRAM) -> None:
        super().__init__(message)
        self.status = status


class Unreachable(Failure):
    """No server answers."""

    def __init__(self, message: str) -> None:
        super().__init__(message, UNREACHABLE)
