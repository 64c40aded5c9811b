"""Explanations of system and library errors within the explorer."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator

_FORBIDDEN = "; a script here starts no programs, reaches no network and writes only files of its own"
_NOT_SEEN = "; a script here sees its own files and those of Python, not the others of the machine"
_NO_INPUT = "; nothing can be typed in for a script here"
_NO_MODEL = "; the file is not an ONNX model, or only a part of one"

MAX_CAUSES = 8
"""Exceptions, each the cause of the one before, among which the system's is looked for."""


def remark(exc: BaseException) -> str:
    """Return ``; a script here sees its own files …`` for an error that the sandbox is behind, else ``""``.

    Parameters
    ----------
    exc : BaseException
        What a script raised.

    Returns
    -------
    str
        What is added to the message of the error.
    """
    if isinstance(exc, FileNotFoundError):
        return _NOT_SEEN if isinstance(exc.filename, str) and exc.filename.startswith("/") else ""
    if any(_reaches_out(cause) for cause in _causes(exc)):
        return _FORBIDDEN
    if isinstance(exc, OSError):
        return _FORBIDDEN if exc.errno in (errno.EPERM, errno.EACCES, errno.EROFS) else ""
    if isinstance(exc, EOFError) and str(exc) == "EOF when reading a line":
        return _NO_INPUT
    return _NO_MODEL if "'onnx.ModelProto'" in str(exc) else ""


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it was raised in place of."""
    cause: BaseException | None = exc
    for _ in range(MAX_CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__


def _reaches_out(exc: BaseException) -> bool:
    return isinstance(exc, socket.gaierror) or (isinstance(exc, OSError) and exc.errno == errno.ENETUNREACH)
