"""Explanations of system and library errors within the explorer."""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Iterator
from pathlib import Path

_FORBIDDEN = "; a script here starts no programs, reaches no network and writes only files of its own"
_NOT_SEEN = "; a script here sees its own files and those of Python, not the others of the machine"
_NO_INPUT = "; nothing can be typed in for a script here"
_NOT_ATTACHED = "; no file of that name is attached: drop it on the page"
_EXTRAS = {"keras": "keras", "tensorflow": "tensorflow", "tflite": "tflite", "torch": "pytorch"}
_IMPOSTORS = {
    rb"version https://git-lfs": "a Git LFS pointer, not the file itself: get that with git lfs pull",
    rb"\s*<(?:!doctype\s+html|html)\b": "a web page, not the file that it offers: use its download link",
}
"""What was saved in place of a file that was to be downloaded, by how it begins."""
_NAMED = re.compile(r"""["']([^"'/\\]{1,120})["']""")
_BEGINNING = 200
_NO_MODEL = "; the file is not an ONNX model, or only a part of one"

MAX_CAUSES = 8
"""Exceptions, each the cause of the one before, among which the system's is looked for."""


def remark(exc: BaseException, statement: str = "") -> str:
    """Return ``; a script here sees its own files …`` for an error that the sandbox or a file is behind, else ``""``.

    Parameters
    ----------
    exc : BaseException
        What a script raised.
    statement : str
        The line that raised it: the files that it names are looked at.

    Returns
    -------
    str
        What is added to the message of the error.
    """
    if isinstance(exc, FileNotFoundError):
        return "" if not isinstance(exc.filename, str) else _NOT_SEEN if exc.filename[:1] == "/" else _NOT_ATTACHED
    if isinstance(exc, ModuleNotFoundError):
        return _not_installed(exc.name or "")
    if impostor := next(filter(None, map(_impostor, _NAMED.findall(statement))), ""):
        return impostor
    if any(_reaches_out(cause) for cause in _causes(exc)):
        return _FORBIDDEN
    if isinstance(exc, OSError):
        return _FORBIDDEN if exc.errno in (errno.EPERM, errno.EACCES, errno.EROFS) else ""
    if isinstance(exc, EOFError) and str(exc) == "EOF when reading a line":
        return _NO_INPUT
    return _NO_MODEL if "'onnx.ModelProto'" in str(exc) else ""


def _not_installed(name: str) -> str:
    """Return who can install a module that the server's Python does not have."""
    module = name.partition(".")[0]
    if module not in _EXTRAS:
        return "; scripts here have numpy, onnx and tvm, and what else its owner installs beside this server"
    return f"; the owner of this server can install it: pip install '.[{_EXTRAS[module]}]'"


def _impostor(name: str) -> str:
    """Return what a file is that only has the name of a model."""
    try:
        with Path(name).open("rb") as file:
            begins = file.read(_BEGINNING)
    except OSError:
        return ""
    kinds = (kind for pattern, kind in _IMPOSTORS.items() if re.match(pattern, begins, re.IGNORECASE))
    return "".join(f"; {name} is {kind}" for kind in kinds)


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
