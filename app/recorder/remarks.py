"""Explanations of system and library errors within the explorer."""

from __future__ import annotations

import errno

_FORBIDDEN = "; a script here starts no programs, reaches no network and writes only files of its own"
_NOT_SEEN = "; a script here sees its own files and those of Python, not the others of the machine"
_NO_MODEL = "; the file is not an ONNX model, or only a part of one"


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
    if isinstance(exc, OSError):
        return _FORBIDDEN if exc.errno in (errno.EPERM, errno.EACCES, errno.EROFS) else ""
    return _NO_MODEL if "'onnx.ModelProto'" in str(exc) else ""
