"""Operating system errors of storage, translated for users."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import StorageFull

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether an OSError means that the disk or a disk quota is full."""
    return isinstance(error, OSError) and error.errno in _FULL


def disk_full(what: str) -> StorageFull:
    """Return the error for a full disk.

    Parameters
    ----------
    what : str
        Name of the object to store, e.g. ``the file``.
    """
    return StorageFull(f"the disk of this server is full: {what} was not stored")


@contextmanager
def storing(what: str) -> Iterator[None]:
    """Translate errors of a full disk; other errors are passed through.

    Parameters
    ----------
    what : str
        Name of the object to store, e.g. ``the file``.

    Raises
    ------
    StorageFull
        If the disk is full.
    """
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(what) from error
        raise
