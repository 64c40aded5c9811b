"""File locks, which are released when the process ends in any way."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform == "win32":

    def try_lock(_descriptor: int) -> bool:
        """Say that the lock is taken: without such locks nobody can tell what has been left behind."""
        return False

    def open_directory(path: Path) -> int | None:
        """Return None: directories cannot be opened here."""
        return None

else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Lock an open file or directory until it is closed; returns False if another holds the lock."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def open_directory(path: Path) -> int | None:
        """Open a directory of this user to lock it; returns None if there is none, or a link in its place."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        if os.fstat(descriptor).st_uid == os.geteuid():
            return descriptor
        os.close(descriptor)
        return None
