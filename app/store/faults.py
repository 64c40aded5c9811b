"""Storage errors of the system, translated for users."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import StorageFull

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether an error of the operating system says that the disk, or a quota on it, is full."""
    return isinstance(error, OSError) and error.errno in _FULL


def disk_full(what: str) -> StorageFull:
    """Return the error that says that there was no room on the disk.

    Parameters
    ----------
    what : str
        What was to be stored, e.g. ``the file``.
    """
    return StorageFull(f"the disk of this server is full: {what} was not stored")


@contextmanager
def storing(what: str) -> Iterator[None]:
    """Say that the disk is full where the operating system does; other errors pass.

    Parameters
    ----------
    what : str
        What is being stored, e.g. ``the file``.

    Raises
    ------
    StorageFull
        There is no room on the disk.
    """
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(what) from error
        raise
