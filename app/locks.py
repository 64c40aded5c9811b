"""Locks on open files: they go with the process that holds them, however it ends."""

from __future__ import annotations

import sys

if sys.platform == "win32":

    def try_lock(_descriptor: int) -> bool:
        """Say that the lock is taken: without such locks nobody can tell what has been left behind."""
        return False

else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Lock an open file or directory until it is closed; returns False if another holds the lock."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
