"""Files in a job's working directory: names, sizes and contents."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from app.sandbox.limits import Limits

MAX_NAME = 120
"""Maximum length of a file name in bytes."""
MAX_STORED = 32
"""Maximum number of stored files of a job, each of which needs a descriptor."""


class StoredFile(msgspec.Struct, frozen=True):
    """A file on disk that is copied into a job without passing through the server's memory."""

    path: Path
    size: int
    """Number of bytes to copy."""


Files = Mapping[str, bytes | StoredFile]
"""Content of a job's files by name."""


def size_of(content: bytes | StoredFile) -> int:
    """Return the size of a file in bytes."""
    return content.size if isinstance(content, StoredFile) else len(content)


def check_name(name: str) -> None:
    """Reject file names that are not plain names.

    Raises
    ------
    ValueError
        If the name is empty, longer than 120 bytes, starts with a dot, or holds a slash, a backslash or a control
        character.
    """
    plain = name and not name.startswith(".") and len(os.fsencode(name)) <= MAX_NAME
    if not plain or any(c in "/\\" or not c.isprintable() for c in name):
        raise ValueError(
            f"files: expected a plain file name of at most {MAX_NAME} bytes without slashes, control characters or "
            f"a leading dot, got {name[:200]!r}"
        )


def check_files(files: Files, limits: Limits) -> None:
    """Reject files that cannot be written to the working directory.

    Raises
    ------
    ValueError
        If a name is not plain, the files exceed their total size limit, or there are too many stored files.
    """
    for name in files:
        check_name(name)
    size = sum(map(size_of, files.values()))
    if size > limits.files_bytes:
        raise ValueError(f"files: expected at most {limits.files_bytes} bytes together, got {size}")
    stored = sum(isinstance(content, StoredFile) for content in files.values())
    if stored > MAX_STORED:
        raise ValueError(f"files: expected at most {MAX_STORED} stored files, got {stored}")
