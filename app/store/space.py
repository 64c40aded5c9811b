"""Space for uploaded files: their total size, and the minimum of free disk space."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

from app.errors import StorageFull

BLOCK = 4096
"""Block size of the file system."""
RECOUNT_SECONDS = 10.0
"""Minimum interval between recounts when space is exhausted, since an operator may have deleted files."""


def on_disk(size: int) -> int:
    """Return the disk usage of a file, rounded up to blocks."""
    return -(-size // BLOCK) * BLOCK


def disk_free(directory: Path) -> int:
    """Return the free bytes on the disk of a directory."""
    return shutil.disk_usage(directory).free


class Space:
    """Accounting of the disk usage of a directory, including files in transfer.

    Parameters
    ----------
    capacity : int
        Limit on the total disk usage in bytes.
    reserve : int
        Bytes of the disk to keep free.
    is_file : Callable[[str], bool]
        Whether an entry of the directory counts, given its name.
    """

    def __init__(self, directory: Path, capacity: int, reserve: int, is_file: Callable[[str], bool]) -> None:
        self._directory = directory
        self.capacity = capacity
        self.reserve = reserve
        self._is_file = is_file
        self._lock = threading.Lock()
        self._arriving = 0
        self._stored = self._count()
        self._counted = time.monotonic()

    @property
    def used(self) -> int:
        """Disk usage in bytes; does not take the lock."""
        return self._stored + self._arriving

    @property
    def free(self) -> int:
        """Free bytes on the disk."""
        return disk_free(self._directory)

    def take(self, size: int) -> None:
        """Reserve space for received bytes.

        Raises
        ------
        StorageFull
            If that would exceed the capacity, or leave less than the reserve free.
        """
        with self._lock:
            if self._stored + self._arriving + size > self.capacity:
                self._recount()
            if self._stored + self._arriving + size > self.capacity:
                raise StorageFull(
                    "this server's storage for files is full: the file was not stored",
                    field="$.file",
                    expected=f"at most {self.capacity:,} bytes of all clients together",
                )
            if self.free < self.reserve + size:
                raise StorageFull(
                    "the disk of this server is full: the file was not stored",
                    field="$.file",
                    expected=f"at least {self.reserve:,} bytes that stay free",
                )
            self._arriving += size

    def settle(self, size: int, stored: int) -> None:
        """Convert a reservation of ``size`` bytes into ``stored`` bytes of disk usage."""
        with self._lock:
            self._arriving -= size
            self._stored += stored

    def _recount(self) -> None:
        if time.monotonic() - self._counted > RECOUNT_SECONDS:
            self._stored, self._counted = self._count(), time.monotonic()

    def _count(self) -> int:
        with os.scandir(self._directory) as entries:
            return sum(on_disk(entry.stat().st_size) for entry in entries if self._is_file(entry.name))
