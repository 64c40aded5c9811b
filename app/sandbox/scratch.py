"""Scratch directories of the sandbox, and removal of stale ones."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

from app.locks import open_directory, try_lock

PREFIX = "strata-scratch-"
_NAME = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")


class Scratch:
    """A new directory, locked while the process that created it is alive."""

    def __init__(self) -> None:
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            self._lock = open_directory(self.path)
            if self._lock is not None:
                try_lock(self._lock)
            if self.path.exists():
                break
            self._unlock()  # a server that just started removed it as stale

    def remove(self) -> None:
        """Delete the directory and its contents."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def closed_to_others(path: Path) -> Path | None:
    """Return the outermost directory on the way to one that other users cannot enter, if there is any."""
    return next((d for d in reversed(path.parents) if not d.stat().st_mode & stat.S_IXOTH), None)


def sweep() -> None:
    """Delete stale directories of this user's servers."""
    for path in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        lock = open_directory(path) if _NAME.fullmatch(path.name) else None
        if lock is None:
            continue
        if try_lock(lock):
            shutil.rmtree(path, ignore_errors=True)
        os.close(lock)
